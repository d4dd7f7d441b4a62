/**
 * Makes random transactions of all types except those of dapps. Many transactions are invalid, and `ChainMaker` leaves
 * them out of its blocks. Most transactions have all signatures that their sender needs, including those of a second
 * key and of group members.
 */

import { hexOf } from '../../src/primitives/bytes.ts';
import type { KeyPair, Payload, Transaction } from '../../src/protocol/types.ts';
import {
  addressOfPair,
  keyPairOf,
  LSK,
  publicKeyOf,
  type ChainMaker,
  type LiveKind,
  type TransactionOptions,
} from './chain-maker.ts';

/** Returns a random integer from 0 to limit − 1. */
export type RandomBelow = (limit: number) => number;

/** Relative frequency of each type. */
const SHARES: Readonly<Record<LiveKind, number>> = {
  transfer: 3,
  vote: 2,
  delegate: 1,
  secondSignature: 1,
  multisignature: 1,
};
const KINDS = (Object.keys(SHARES) as LiveKind[]).flatMap((kind) => Array<LiveKind>(SHARES[kind]).fill(kind));

/** Makes `count` transactions. The senders are the network's funded accounts and two accounts without initial funds. */
export function randomTransactions(maker: ChainMaker, count: number, below: RandomBelow): Transaction[] {
  const people = [...maker.network.accounts, keyPairOf('stranger 1'), keyPairOf('stranger 2')];
  return Array.from({ length: count }, () => {
    const sender = anyOf(people, below);
    const kind = anyOf(KINDS, below);
    const members = [0, 1, 2].map(() => anyOf(people, below));
    const payload = randomPayload(kind, maker, people, members, below);
    const options = signingOptions(maker, sender, payload.kind === 'multisignature' ? members : undefined, below);
    return maker.transaction(sender, payload, options);
  });
}

function randomPayload(
  kind: LiveKind,
  maker: ChainMaker,
  people: readonly KeyPair[],
  members: readonly KeyPair[],
  below: RandomBelow,
): Payload {
  switch (kind) {
    case 'transfer': {
      const amount = BigInt(1 + below(2000)) * LSK + BigInt(below(1000));
      const data = ['', 'hello', 'Grüße', '名前'][below(4)];
      const recipientId = addressOfPair(anyOf(people, below));
      return { kind: 'transfer', amount, recipientId, ...(data ? { data } : {}) };
    }
    case 'vote': {
      const keys = [0, 1, 2].map(() => publicKeyOf(anyOf([...maker.network.delegates, ...people], below)));
      const votes = [...new Set(keys)].map((key) => `${below(3) === 0 ? '-' : '+'}${key}`);
      return { kind: 'vote', votes, amount: 0n };
    }
    case 'delegate':
      return { kind: 'delegate', username: `name_${below(20)}` };
    case 'secondSignature':
      return { kind: 'secondSignature', publicKey: hexOf(keyPairOf(`second ${below(3)}`).publicKey) };
    case 'multisignature': {
      const keysgroup = [...new Set(members.map((member) => `+${publicKeyOf(member)}`))];
      return { kind: 'multisignature', min: 1 + below(keysgroup.length), lifetime: 1 + below(72), keysgroup };
    }
  }
}

function signingOptions(
  maker: ChainMaker,
  sender: KeyPair,
  registered: readonly KeyPair[] | undefined,
  below: RandomBelow,
): TransactionOptions {
  const account = maker.state.account(addressOfPair(sender));
  const seconds = [0, 1, 2].map((number) => keyPairOf(`second ${number}`));
  const second = seconds.find((keyPair) => publicKeyOf(keyPair) === account?.secondPublicKey);
  const known = [...maker.network.accounts, keyPairOf('stranger 1'), keyPairOf('stranger 2')];
  const group = account?.group?.members ?? [];
  const members = registered ?? known.filter((keyPair) => group.includes(publicKeyOf(keyPair)));
  const careless = below(8) === 0;
  return {
    ...(second === undefined || careless ? {} : { second }),
    ...(careless ? {} : { members: [...new Set(members)] }),
  };
}

function anyOf<T>(list: readonly T[], below: RandomBelow): T {
  return list[below(list.length)] as T;
}
