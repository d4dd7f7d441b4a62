/**
 * Key pairs of the accounts that occur in the cases of `npm run differential`, and assets for the transactions of these
 * accounts.
 */

import { defaultEd25519 } from '../../src/crypto/ed25519.ts';
import { sha256 } from '../../src/crypto/hash.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { hexOf, utf8 } from '../../src/primitives/bytes.ts';
import type { KeyPair } from '../../src/protocol/types.ts';
import type { RandomBelow } from '../fuzz/mutate.ts';
import { pick } from './mutations.ts';

export interface Person {
  readonly keyPair: KeyPair;
  readonly publicKey: string;
  readonly address: string;
}

const ed25519 = defaultEd25519();

/** The number of accounts is small, so that several transactions of a case often involve the same account. */
export const PEOPLE = personsNamed('person', 9);

/** There are more delegates than an account may vote for. */
export const DELEGATES = personsNamed('delegate', 104);

function personsNamed(name: string, length: number): readonly Person[] {
  return Array.from({ length }, (_, index) => {
    const keyPair = ed25519.keyPairOfSeed(sha256(utf8(`${name} ${index}`)));
    const publicKey = hexOf(keyPair.publicKey);
    return { keyPair, publicKey, address: addressOf(publicKey) };
  });
}

export function signatureOf(message: Uint8Array, { keyPair }: Person): string {
  return hexOf(ed25519.sign(sha256(message), keyPair.privateKey));
}

const NAMES = ['alice', 'bob', 'carol', 'a', 'user.name', 'n'.repeat(20)];
/**
 * Unusual user names and texts for transactions. A transaction with such a name or text can be signed, but may be
 * invalid.
 */
const ODD_TEXTS = [
  'Alice',
  ' alice',
  'alice\u00a0',
  'ſ',
  'a\u0000',
  'u00000000',
  '123l',
  'é',
  'e\u0301',
  '\ufb01',
  '\ud800',
  '\udc00\ud800',
];
const ODD_DATA = [
  ...ODD_TEXTS,
  '\\u0000',
  '\\x00',
  'U00000000',
  'é'.repeat(32),
  'é'.repeat(33),
  '💣'.repeat(16),
  '\ud83d'.repeat(21),
  '\ud83d'.repeat(22),
];
const AMOUNTS = ['1', '100', '100000000', '5000000000', '900000000000'];
const ODD_AMOUNTS = [
  '0',
  '007',
  '9223372036854775806',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551615',
];

/**
 * Returns an asset for a transaction type of generation 3. The asset usually passes all checks that need no chain
 * state.
 *
 * @param delegates persons who get most votes; if the list is empty, any person may get votes
 */
export function anyAsset(type: number, below: RandomBelow, delegates: readonly Person[] = []): Record<string, unknown> {
  const somebody = (): Person => pick(PEOPLE, below);
  const keys = (most: number): string[] => [
    ...new Set(Array.from({ length: 1 + below(most) }, () => somebody().publicKey)),
  ];
  switch (type) {
    case 8: {
      const amount = pick(below(10) === 0 ? ODD_AMOUNTS : AMOUNTS, below);
      const data = pick(below(10) === 0 ? ODD_DATA : [undefined, '', 'hello', 'Grüße', '名前'], below);
      return { amount, recipientId: somebody().address, ...(data === undefined ? {} : { data }) };
    }
    case 9:
      return { publicKey: somebody().publicKey };
    case 10:
      return { username: pick(below(8) === 0 ? ODD_TEXTS : NAMES, below) };
    case 11: {
      const known = delegates.length === 0 || below(6) === 0 ? PEOPLE : delegates;
      const voted = [...new Set(Array.from({ length: 1 + below(2) }, () => pick(known, below).publicKey))];
      return { votes: voted.map((key) => `${below(3) === 0 ? '-' : '+'}${key}`) };
    }
    default: {
      const keysgroup = keys(3).map((key) => `+${key}`);
      return { min: 1 + below(keysgroup.length), lifetime: 1 + below(72), keysgroup };
    }
  }
}

/** Converts an asset into the members of a generation 2 document. */
export function inGeneration2(type: number, asset: Record<string, unknown>, sender: Person): Record<string, unknown> {
  const nothing = { amount: '0', recipientId: '' };
  switch (type) {
    case 8: {
      const { amount, recipientId, data } = asset;
      return { amount, recipientId, fee: '10000000', asset: data === undefined ? {} : { data } };
    }
    case 9:
      return { ...nothing, fee: '500000000', asset: { signature: asset } };
    case 10:
      return { ...nothing, fee: '2500000000', asset: { delegate: asset } };
    case 11:
      return { amount: '0', recipientId: sender.address, fee: '100000000', asset };
    default: {
      const { keysgroup } = asset as { keysgroup: readonly string[] };
      return { ...nothing, fee: String(500_000_000 * (keysgroup.length + 1)), asset: { multisignature: asset } };
    }
  }
}
