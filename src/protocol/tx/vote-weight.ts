/**
 * Changes the vote weights of delegates for a transaction. At the end of each round, a delegate's vote weight is the
 * sum of the balances of the accounts that vote for the delegate. Each transaction changes balances or votes, so each
 * transaction can change vote weights.
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

/**
 * `live`: changes of vote weights take effect immediately. `pending`: the node collects changes of vote weights, and
 * these changes take effect at the end of the round.
 */
export type VoteWeightMode = 'live' | 'pending';

/**
 * The vote weights that `finishWeights` completes and checks at the end of a block. Between the transactions of a
 * block, weights can have fractions and any size, because lisk-sdk computes with unbounded numbers. At the end of the
 * block, lisk-sdk stores each weight as a signed 64-bit integer.
 */
export interface UnfinishedWeights {
  /**
   * For each delegate, contains the amounts that `finishWeights` must still subtract from the vote weight of the
   * delegate. The map contains only amounts that have a fraction or more than forty digits. Such an amount comes from a
   * member of a transaction that no signature covers (`countedAmount`). `applyVoteWeight` subtracts all other amounts
   * immediately.
   */
  readonly pendingAmounts: Map<PublicKey, Decimal[]>;
  /** Delegates whose weight left the range of `isStorableWeight` at some moment within the block. */
  readonly extreme: Set<PublicKey>;
}

export function noUnfinishedWeights(): UnfinishedWeights {
  return { pendingAmounts: new Map(), extreme: new Set() };
}

/**
 * Completes the vote weights at the end of a block: subtracts the amounts in `pendingAmounts` from the weights of the
 * delegates.
 *
 * @returns a delegate whose weight lisk-sdk cannot store; in this case, the block is invalid. Undefined if lisk-sdk can
 *   store all weights
 */
export function finishWeights(
  state: StateWriter,
  { pendingAmounts, extreme }: UnfinishedWeights,
  mode: VoteWeightMode,
): PublicKey | undefined {
  const changeOf = negatedSums();
  for (const [publicKey, amounts] of pendingAmounts) {
    const by = changeOf(amounts);
    if (by === undefined) return publicKey;
    if (by !== 0n) addVoteWeight(state, publicKey, by, mode);
    extreme.add(publicKey);
  }
  return [...extreme].find((publicKey) => !isStorableWeight(state.delegate(publicKey)?.voteWeight ?? 0n));
}

/**
 * Creates a function that returns the negated sum of a list of amounts, or undefined if the sum is not a whole number.
 * The created function computes the sum of equal lists only once. This saves time, because delegates with the same
 * voters have lists with the same amounts, and an amount can have a million digits.
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

/** True if lisk-sdk's database can store a weight, that is, if the weight fits into a signed 64-bit integer. */
export function isStorableWeight(weight: bigint): boolean {
  return weight <= AMOUNT_MAX && weight >= -AMOUNT_MAX - 1n;
}

/**
 * Changes the vote weights for a transaction that has been applied to `state`.
 *
 * @throws ProtocolError `VOTED_KEY_IS_NO_DELEGATE` if a voted key belongs to no delegate. This can happen only in a
 *   genesis block, or for a vote in the exceptions of the network
 */
export function applyVoteWeight(
  state: StateWriter,
  transaction: Transaction,
  mode: VoteWeightMode,
  exceptions: Exceptions,
  unfinished: UnfinishedWeights = noUnfinishedWeights(),
): void {
  const { payload } = transaction;
  const recipientId = receiverOf(state, payload);
  const recipientVotes = recipientId === undefined ? NO_VOTES : (state.account(recipientId)?.votes ?? NO_VOTES);
  const sender = state.account(transaction.senderId);
  // Most transactions are transfers between accounts that do not vote. A transfer between two accounts of this kind
  // changes no vote weight.
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
      const amounts = unfinished.pendingAmounts.get(publicKey);
      if (amounts === undefined) unfinished.pendingAmounts.set(publicKey, [counted]);
      else amounts.push(counted);
    }
    for (const publicKey of upvotes) add(publicKey, sender.balance);
    for (const publicKey of unvotes) add(publicKey, -sender.balance);
  }
  for (const [publicKey, by] of changes) {
    if (by !== 0n && !isStorableWeight(addVoteWeight(state, publicKey, by, mode))) unfinished.extreme.add(publicKey);
  }
}

/**
 * Changes the vote weight of a delegate. In the mode `live`, the function adds beddows to the vote weight itself. In
 * the mode `pending`, the function adds beddows to the pending vote weight, which is the sum of the changes that take
 * effect at the end of the round.
 *
 * @param by beddows to add; can be negative
 * @returns the vote weight of the delegate after the call, without the pending vote weight
 * @throws ProtocolError `VOTED_KEY_IS_NO_DELEGATE` if `publicKey` belongs to no delegate
 */
export function addVoteWeight(state: StateWriter, publicKey: PublicKey, by: bigint, mode: VoteWeightMode): bigint {
  const delegate = state.delegate(publicKey);
  if (delegate === undefined) throw new ProtocolError('VOTED_KEY_IS_NO_DELEGATE', { publicKey });
  const { address, username, voteWeight, pendingVoteWeight, rank } = delegate;
  const isLive = mode === 'live';
  // All members are copied one by one, because spreading an object takes several times as long. A transfer copies each
  // delegate for which its sender or its recipient votes, and an account can vote for 101 delegates.
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

/**
 * Returns the address of the account that receives the amount of a transaction. If the transaction moves an amount into
 * an application, the application's owner receives the amount.
 */
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
