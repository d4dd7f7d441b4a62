/**
 * What a transaction does to the weights of delegates. At every round boundary a weight is the sum of the balances that
 * vote for the delegate; between them it is kept by adding up these changes.
 */

import { AMOUNT_MAX } from '../../primitives/amount.ts';
import { DecimalSum, integerOf, type Decimal } from '../../primitives/decimal.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { Exceptions } from '../params.ts';
import type { StateReader, StateWriter } from '../state.ts';
import type { Address, Payload, PublicKey, Transaction } from '../types.ts';
import { countedAmount } from './amounts.ts';
import { ownerOfApplication } from './application.ts';
import { recipientOf } from './recipient.ts';
import { keysWithSign } from './vote.ts';

const NO_VOTES: readonly PublicKey[] = [];

/** `live`: visible at once. `pending`: gathered until the end of the round. */
export type VoteWeightMode = 'live' | 'pending';

/**
 * What must have come right when a block ends: between its transactions, weights may have fractions and be of any size, as the
 * reference computes with numbers that have no bound. What it stores is a whole number of 64 bits with a sign.
 */
export interface UnsettledWeights {
  /** Amounts with fractions or of forty digits and more, which could not be booked, by delegate. */
  readonly unbooked: Map<PublicKey, Decimal[]>;
  /** Delegates whose weight was beyond what can be stored. */
  readonly extreme: Set<PublicKey>;
}

export function noUnsettledWeights(): UnsettledWeights {
  return { unbooked: new Map(), extreme: new Set() };
}

/**
 * Books what is left over of a block's transactions.
 *
 * @returns a delegate whose weight the reference could not store, so that it refuses the block; undefined for none
 */
export function settleWeights(
  state: StateWriter,
  { unbooked, extreme }: UnsettledWeights,
  mode: VoteWeightMode,
): PublicKey | undefined {
  const changeOf = negatedSums();
  for (const [publicKey, amounts] of unbooked) {
    const by = changeOf(amounts);
    if (by === undefined) return publicKey;
    if (by !== 0n) addVoteWeight(state, publicKey, by, mode);
    extreme.add(publicKey);
  }
  return [...extreme].find((publicKey) => !isStorableWeight(state.delegate(publicKey)?.voteWeight ?? 0n));
}

/**
 * What lists of amounts take from a weight, undefined for no whole number. Each list is added up once: all delegates that the
 * same senders vote for have the same one, and an amount may have a million digits.
 */
function negatedSums(): (amounts: readonly Decimal[]) => bigint | undefined {
  const numbers = new Map<Decimal, number>();
  const sums = new Map<string, bigint | undefined>();
  const numberOf = (amount: Decimal): number => {
    if (!numbers.has(amount)) numbers.set(amount, numbers.size);
    return numbers.get(amount) ?? 0;
  };
  return (amounts) => {
    const key = amounts.map(numberOf).join();
    if (!sums.has(key)) {
      const sum = new DecimalSum();
      for (const amount of amounts) sum.subtract(amount);
      sums.set(key, sum.integer());
    }
    return sums.get(key);
  };
}

/** Whether the reference's database holds a weight. */
export function isStorableWeight(weight: bigint): boolean {
  return weight <= AMOUNT_MAX && weight >= -AMOUNT_MAX - 1n;
}

/**
 * Books a transaction that has been applied to `state`.
 *
 * @throws ProtocolError `VOTED_KEY_IS_NO_DELEGATE`: only a genesis block can get here with such a vote
 */
export function bookVoteWeight(
  state: StateWriter,
  transaction: Transaction,
  mode: VoteWeightMode,
  exceptions: Exceptions,
  unsettled: UnsettledWeights = noUnsettledWeights(),
): void {
  const { payload } = transaction;
  const recipientId = receiverOf(state, payload);
  const recipientVotes = recipientId === undefined ? NO_VOTES : (state.account(recipientId)?.votes ?? NO_VOTES);
  const sender = state.account(transaction.senderId);
  // As it is with most transfers, which are most transactions.
  if (recipientVotes.length === 0 && sender?.votes.length === 0 && payload.kind !== 'vote') return;
  const changes = new Map<PublicKey, bigint>();
  const add = (publicKey: PublicKey, by: bigint): void => {
    changes.set(publicKey, (changes.get(publicKey) ?? 0n) + by);
  };
  const counted = countedAmount(transaction) ?? 0n;
  const whole = typeof counted === 'bigint' ? counted : integerOf(counted);
  const amount = whole ?? 0n;
  for (const publicKey of recipientVotes) add(publicKey, amount);
  if (sender !== undefined) {
    const votes = payload.kind === 'vote' ? payload.votes : [];
    const upvotes = keysWithSign(votes, '+');
    const unvotes = keysWithSign(votes, '-');
    const own = exceptions.roundVotes.has(transaction.id) ? { upvotes: [], unvotes: [] } : { upvotes, unvotes };
    for (const publicKey of votesBefore(sender.votes, own)) {
      add(publicKey, -(amount + transaction.fee));
      if (typeof counted === 'bigint' || whole !== undefined) continue;
      const amounts = unsettled.unbooked.get(publicKey);
      if (amounts === undefined) unsettled.unbooked.set(publicKey, [counted]);
      else amounts.push(counted);
    }
    for (const publicKey of upvotes) add(publicKey, sender.balance);
    for (const publicKey of unvotes) add(publicKey, -sender.balance);
  }
  for (const [publicKey, by] of changes) {
    if (by !== 0n && !isStorableWeight(addVoteWeight(state, publicKey, by, mode))) unsettled.extreme.add(publicKey);
  }
}

/**
 * Adds to a delegate's weight.
 *
 * @param by beddows, may be negative
 * @returns the weight that shows now
 * @throws ProtocolError `VOTED_KEY_IS_NO_DELEGATE`
 */
export function addVoteWeight(state: StateWriter, publicKey: PublicKey, by: bigint, mode: VoteWeightMode): bigint {
  const delegate = state.delegate(publicKey);
  if (delegate === undefined) throw new ProtocolError('VOTED_KEY_IS_NO_DELEGATE', { publicKey });
  const { address, username, voteWeight, pendingVoteWeight, rank } = delegate;
  const isLive = mode === 'live';
  // Member by member, as a transfer of somebody who votes makes a hundred: a spread takes several times as long.
  const weight = isLive ? voteWeight + by : voteWeight;
  state.setDelegate({
    publicKey,
    address,
    username,
    voteWeight: weight,
    pendingVoteWeight: isLive ? pendingVoteWeight : pendingVoteWeight + by,
    rank,
  });
  return weight;
}

/** Who receives the amount: of a transfer to an application, its owner. */
function receiverOf(state: StateReader, payload: Payload): Address | undefined {
  if (payload.kind === 'inTransfer') return ownerOfApplication(state, payload.dappId);
  return recipientOf({ payload });
}

function votesBefore(
  votes: readonly PublicKey[],
  own: { readonly upvotes: readonly PublicKey[]; readonly unvotes: readonly PublicKey[] },
): readonly PublicKey[] {
  if (own.upvotes.length === 0 && own.unvotes.length === 0) return votes;
  return [...votes.filter((publicKey) => !own.upvotes.includes(publicKey)), ...own.unvotes];
}
