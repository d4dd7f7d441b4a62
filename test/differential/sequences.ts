/**
 * Blocks in which transactions depend on earlier ones. For example, one transaction registers a second signature or a
 * multisignature group, and a later transaction of the block uses it. In another example, two transactions register the
 * same delegate name.
 */

import type { RandomBelow } from '../fuzz/mutate.ts';
import type { fullRow } from '../support/reference-tables.ts';
import { namedMembers, sign, type Document } from './documents.ts';
import { otherCase, pick } from './mutations.ts';
import { DELEGATES, inGeneration2, PEOPLE, type Person } from './people.ts';
import type { ReferencePackage } from './reference.ts';

export type Account = Parameters<typeof fullRow>[0];

/** Block content of a case, and the accounts before the block. */
export interface BlockContent {
  readonly accounts: readonly Account[];
  readonly transactions: readonly Document[];
}

/** An account that sends transactions, with the second passphrase and the group that it has registered so far. */
interface Actor {
  readonly person: Person;
  second: Person | undefined;
  group: readonly Person[];
}

const ACTORS = PEOPLE.slice(0, 4);
/**
 * Fees of generation 3 in Beddows, by transaction type. `anyBalance` adds up such fees and amounts, so that some
 * transactions spend the whole balance of their sender.
 */
const FEES: Readonly<Record<number, bigint>> = {
  8: 10_000_000n,
  9: 500_000_000n,
  10: 2_500_000_000n,
  11: 100_000_000n,
  12: 1_000_000_000n,
};
const AMOUNTS = [1n, 10_000_000n, 490_000_000n, 500_000_000n, 2_500_000_000n];
const STEPS_MAX = 6;
/** Possible numbers of votes in one transaction. The protocol allows at most 33. */
const VOTES = [1, 2, 32, 33, 34];
/** Possible numbers of delegates for which an account has voted before the block. The protocol allows at most 101. */
const VOTES_BEFORE = [0, 1, 67, 68, 69, 99, 100, 101];

export function anySequence(reference: ReferencePackage, below: RandomBelow): BlockContent {
  const hasManyAccounts = below(4) === 0;
  const actors = ACTORS.map((person) => ({ person, second: undefined, group: [] }));
  const accounts = [
    ...actors.map((actor) => anyAccount(actor, hasManyAccounts, below)),
    ...(hasManyAccounts ? manyAccounts() : []),
  ];
  const transactions = Array.from({ length: 1 + below(STEPS_MAX) }, () =>
    anyStep(reference, pick(actors.slice(0, 1 + below(actors.length)), below), hasManyAccounts, below),
  );
  return { accounts, transactions };
}

function manyAccounts(): Account[] {
  return DELEGATES.map(({ address, publicKey }, index) => ({
    ...{ address, publicKey, username: `crowd${index}`, isDelegate: true },
    voteWeight: '900000000000000000',
  }));
}

function anyAccount(actor: Actor, hasManyAccounts: boolean, below: RandomBelow): Account {
  const { address, publicKey } = actor.person;
  const count = hasManyAccounts ? pick(VOTES_BEFORE, below) : 0;
  if (below(6) === 0) actor.second = pick(PEOPLE, below);
  return {
    address,
    balance: String(anyBalance(below)),
    ...(count > 0 || actor.second !== undefined || below(2) === 0 ? { publicKey } : {}),
    ...(count > 0 ? { votedDelegatesPublicKeys: DELEGATES.slice(0, count).map((each) => each.publicKey) } : {}),
    ...(actor.second === undefined ? {} : { secondPublicKey: actor.second.publicKey }),
  };
}

/** Returns a balance: the cost of up to three transactions, this cost plus or minus one beddow, or 1,000 LSK. */
function anyBalance(below: RandomBelow): bigint {
  if (below(3) === 0) return 100_000_000_000n;
  const fees = Object.values(FEES);
  const sum = Array.from(
    { length: 1 + below(3) },
    () => pick(fees, below) + (below(2) === 0 ? pick(AMOUNTS, below) : 0n),
  );
  return sum.reduce((all, each) => all + each, pick([0n, 0n, 1n, -1n], below));
}

function anyStep(reference: ReferencePackage, actor: Actor, hasManyAccounts: boolean, below: RandomBelow): Document {
  const { person: sender } = actor;
  const type = hasManyAccounts && below(2) === 0 ? 11 : pick([8, 8, 9, 10, 11, 12, 12], below);
  const asset = anyAssetOf(type, sender, hasManyAccounts, below);
  const isSecond = reference.generation === 2;
  const document: Document = {
    type: isSecond ? type - 8 : type,
    timestamp: below(100),
    senderPublicKey: sender.publicKey,
    ...(isSecond ? { senderId: sender.address, ...inGeneration2(type, asset, sender) } : { asset }),
  };
  const named = namedMembers(document);
  // Sometimes sign without the second passphrase, without signatures of the members, or with an unregistered second
  // passphrase.
  const second = pick([actor.second, actor.second, actor.second, undefined, PEOPLE[8]], below);
  const group = below(5) === 0 ? [] : actor.group;
  const members = [...new Set([...group, ...named])].filter(() => below(12) > 0);
  sign(reference, document, { sender, second, members });
  const signatures = document['signatures'] as string[] | undefined;
  if (signatures !== undefined && below(10) === 0) signatures.push(otherCase(pick(signatures, below), below));
  if (type === 9 && below(8) > 0) actor.second = PEOPLE.find(({ publicKey }) => publicKey === asset['publicKey']);
  if (type === 12 && below(8) > 0) actor.group = named;
  return document;
}

function anyAssetOf(
  type: number,
  sender: Person,
  hasManyAccounts: boolean,
  below: RandomBelow,
): Record<string, unknown> {
  switch (type) {
    case 8:
      return { amount: String(pick(AMOUNTS, below)), recipientId: pick([sender, ...ACTORS], below).address };
    case 9:
      return { publicKey: pick([sender, ...PEOPLE], below).publicKey };
    case 10:
      return { username: pick(['alice', 'bob', 'crowd1'], below) };
    case 11:
      return { votes: anyVotes(sender, hasManyAccounts, below) };
    default: {
      const people = pick([PEOPLE, PEOPLE, DELEGATES], below);
      const count = pick([1, 2, 3, 14, 15, 16], below);
      const keysgroup = [...new Set(Array.from({ length: count }, () => `+${pick(people, below).publicKey}`))];
      if (below(6) === 0) keysgroup.push(`+${sender.publicKey}`);
      return {
        min: pick([1, 1, 2, keysgroup.length, keysgroup.length + 1, 0, 15, 16], below),
        lifetime: pick([1, 24, 24, 72, 0, 73], below),
        keysgroup,
      };
    }
  }
}

/**
 * Returns votes and withdrawals of votes. They concern delegates, other actors, or the sender itself. The sender may
 * have voted for some of these delegates before the block. Some votes occur twice. For some delegates, the result
 * contains both a vote and a withdrawal of a vote.
 */
function anyVotes(sender: Person, hasManyAccounts: boolean, below: RandomBelow): string[] {
  const people = hasManyAccounts ? DELEGATES : ACTORS;
  const start = below(people.length);
  const count = pick(VOTES, below);
  const keys = people.slice(start, start + count).map(({ publicKey }) => publicKey);
  if (below(4) === 0) keys.push(sender.publicKey);
  const isUpvote = pick([() => true, () => false, () => below(2) === 0], below);
  const votes = keys.map((key) => `${isUpvote() ? '+' : '-'}${key}`);
  if (below(8) === 0) votes.push(`${pick(['+', '-'], below)}${pick(keys, below)}`);
  return votes;
}
