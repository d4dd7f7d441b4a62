/** Chains of invented blocks with random state changes, for tests of the store, which does not validate blocks. */

import { createHash } from 'node:crypto';

import type { ChainStore } from '../../src/ports/store.ts';
import { emptyAccount, type Account, type Delegate, type StateWriter } from '../../src/protocol/state.ts';
import type { Block, BlockHeader, Payload, PublicKey, Transaction } from '../../src/protocol/types.ts';
import { addressOf } from '../../src/crypto/keys.ts';
import { fakeBlock, fakeId } from '../support/fake-codec.ts';

/** The source of all random values in a chain. Equal seeds give equal values. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a random integer from 0 to `below - 1`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

export function keyOf(name: string): PublicKey {
  return createHash('sha256').update(name).digest('hex');
}

/** Public keys of the accounts in the chains. There are few accounts, so that many blocks change the same accounts. */
export const PEOPLE: readonly PublicKey[] = Array.from({ length: 12 }, (_, i) => keyOf(`person ${i}`));
/** Usernames with which the accounts register as delegates, in the order of `PEOPLE`. */
export const USERNAMES = [
  'alice',
  'bob',
  'b_ob',
  'genesis_1',
  'genesis_10',
  'Zoe',
  'zo.e',
  '0x',
  'a$b',
  'a!b',
  'carol',
  'dave',
];
const DATA = ['rent', 'rent 2', 'Rent', '50%', 'under_score', 'größe', 'nul\u0000l', ''];

/** One step of a chain: a block, and the function that writes the changes of the block to the state. */
export interface Step {
  readonly block: Block;
  readonly apply: (state: StateWriter) => void;
}

/** Makes the next block of a chain. The result depends only on the state of `dice` and on `parent`. */
export function nextStep(dice: Dice, parent: BlockHeader | undefined): Step {
  const height = (parent?.height ?? 0) + 1;
  const timestamp = parent === undefined ? 0 : parent.timestamp + 10 * (1 + dice.below(3));
  const transactions = Array.from({ length: dice.below(5) }, (_, i) =>
    randomTransaction(dice, `${height} ${i}`, timestamp),
  );
  const block = fakeBlock(parent, transactions, {
    timestamp,
    generatorPublicKey: dice.pick(PEOPLE),
    reward: BigInt(dice.below(3)),
    totalFee: BigInt(dice.below(4)) * 10n,
    totalAmount: BigInt(dice.below(4)) * 7n,
  });
  const seed = dice.below(0x7fff_ffff);
  return { block, apply: (state) => randomWrites(new Dice(seed), state, height) };
}

function randomTransaction(dice: Dice, name: string, timestamp: number): Transaction {
  const senderPublicKey = dice.pick(PEOPLE);
  const payload = randomPayload(dice);
  return {
    id: fakeId(`transaction ${name} ${dice.below(0x7fff_ffff)}`),
    type: TYPES[payload.kind],
    timestamp: timestamp - dice.below(30),
    senderPublicKey,
    senderId: addressOf(senderPublicKey),
    fee: BigInt(dice.below(3)) * 100n,
    payload,
    signature: 'ab'.repeat(64),
    signatures: dice.chance(20) ? ['cd'.repeat(64)] : [],
  };
}

const TYPES = {
  transfer: 8,
  secondSignature: 9,
  delegate: 10,
  vote: 11,
  multisignature: 12,
  dapp: 5,
  inTransfer: 6,
  outTransfer: 7,
} as const;

function randomPayload(dice: Dice): Payload {
  switch (dice.below(6)) {
    case 0:
      return { kind: 'secondSignature', publicKey: keyOf(`second ${dice.below(4)}`) };
    case 1:
      return { kind: 'delegate', username: dice.pick(USERNAMES) };
    case 2:
      return { kind: 'vote', votes: [`+${dice.pick(PEOPLE)}`], amount: 0n };
    default:
      return {
        kind: 'transfer',
        // Some amounts exceed 64 bits, because the store has no limit for amounts.
        amount: dice.chance(5) ? 1n << 70n : BigInt(dice.below(6)),
        recipientId: dice.chance(5) ? '0001L' : addressOf(dice.pick(PEOPLE)),
        ...(dice.chance(60) ? { data: dice.pick(DATA) } : {}),
      };
  }
}

function randomWrites(dice: Dice, state: StateWriter, height: number): void {
  for (let i = dice.below(6); i > 0; i -= 1) state.setAccount(randomAccount(dice, state));
  if (dice.chance(40)) {
    const publicKey = dice.pick(PEOPLE);
    const known = state.delegate(publicKey);
    const username = known?.username ?? USERNAMES[PEOPLE.indexOf(publicKey)];
    if (username === undefined) throw new Error('each person has a name');
    const delegate: Delegate = {
      publicKey,
      address: addressOf(publicKey),
      username,
      voteWeight: BigInt(dice.below(5)) * 1_000_000_000_000_000n,
      pendingVoteWeight: BigInt(dice.below(3)) - 1n,
      rank: dice.below(3),
    };
    state.setDelegate(delegate);
    const account = state.account(delegate.address) ?? emptyAccount(delegate.address);
    state.setAccount({ ...account, publicKey, username });
  }
  if (dice.chance(30)) state.setRoundList(1 + dice.below(4), dice.chance(30) ? undefined : [dice.pick(PEOPLE)]);
  // The text with `ledger` must not change, because the stores in test/fixtures contain it.
  if (dice.chance(70)) state.setBftState(Buffer.from(`ledger ${height} ${dice.below(1000)}`));
  if (dice.chance(30)) state.setFact(`fact ${dice.below(3)}`, `${height} ${dice.below(1000)}`);
}

function randomAccount(dice: Dice, state: StateWriter): Account {
  const publicKey = dice.pick(PEOPLE);
  const address = dice.chance(5) ? '0001L' : addressOf(publicKey);
  const before = state.account(address) ?? emptyAccount(address);
  const balance = BigInt(dice.below(5)) - 1n;
  const change = dice.below(7);
  return {
    ...before,
    balance: change === 0 ? balance * (1n << 80n) : balance,
    producedBlocks: before.producedBlocks + (dice.chance(30) ? 1 : 0),
    missedBlocks: before.missedBlocks + (dice.chance(10) ? 1 : 0),
    forgedFees: before.forgedFees + BigInt(dice.below(2)),
    ...(change > 2 && address !== '0001L' ? { publicKey } : {}),
    ...(change === 3 ? { secondPublicKey: keyOf(`second ${dice.below(4)}`) } : {}),
    ...(change === 4 ? { votes: PEOPLE.filter(() => dice.chance(30)) } : {}),
    ...(change === 5
      ? { group: { min: 2, lifetime: 24, members: PEOPLE.filter((key) => key !== publicKey && dice.chance(30)) } }
      : {}),
  };
}

/**
 * Extends a store with the blocks of one fixed history, up to a height. The store must be empty or contain the first
 * blocks of this history. The function appends each block in its own transaction of the store.
 */
export function followHistory(
  store: ChainStore,
  upTo: number,
  written: (height: number) => void = () => undefined,
): void {
  for (;;) {
    const parent = store.tip();
    const height = (parent?.height ?? 0) + 1;
    if (height > upTo) return;
    const { block, apply } = nextStep(new Dice(height), parent);
    store.transact((writer) => writer.append(block, apply));
    written(height);
  }
}
