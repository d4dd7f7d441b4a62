/** Moves transactions from queue to queue. Each step handles a limited number of transactions. */

import type { Transaction } from '../../protocol/types.ts';
import type { TransactionError } from '../../protocol/verdict.ts';
import { groupOf, validateAtTip, verifyAtTip, type PoolContext } from './checks.ts';
import type { Pooled, PoolQueues } from './queues.ts';

/** Events that the steps report. */
export interface StepEvents {
  /** Called when a step removed a transaction because it is invalid. */
  dropped(transaction: Transaction, errors: readonly TransactionError[]): void;
  /** Called when a transaction of a peer entered `verified` or `pending` for the first time. */
  verified(transaction: Transaction): void;
}

/**
 * Makes the checks that need no state. Moves transactions that pass the checks from `received` to `validated`, and
 * drops the other transactions. Does nothing while `validated` is full.
 */
export function validateReceived(context: PoolContext, queues: PoolQueues, countMax: number, events: StepEvents): void {
  if (queues.isFull('validated')) return;
  for (const pooled of queues.first('received', countMax)) {
    const errors = validateAtTip(context, pooled.transaction);
    if (errors.length > 0) drop(queues, pooled, errors, events);
    else queues.move(pooled, 'validated');
  }
}

/**
 * Moves transactions from `validated` to `verified` if they are valid in the state, or to `pending` if they lack only
 * members' signatures. Drops invalid transactions. Does nothing while `verified` is full.
 */
export function verifyValidated(context: PoolContext, queues: PoolQueues, countMax: number, events: StepEvents): void {
  if (queues.isFull('verified')) return;
  for (const pooled of queues.first('validated', countMax)) verifyOne(context, queues, pooled, events);
}

/**
 * Moves one transaction to `verified` if it is valid in the state, or to `pending` if it lacks only members'
 * signatures. Drops an invalid transaction. The transaction has already passed `validateAtTip`, at the present tip or
 * at an earlier tip.
 *
 * @returns false if the transaction was dropped
 */
export function verifyOne(context: PoolContext, queues: PoolQueues, pooled: Pooled, events: StepEvents): boolean {
  const verdict = verifyAtTip(context, pooled.transaction);
  if (verdict.status === 'fail') {
    drop(queues, pooled, verdict.errors, events);
    return false;
  }
  const isPending = verdict.status === 'pending';
  const group = isPending ? 'pending' : groupOf(context, pooled.transaction);
  queues.move({ ...pooled, group, announced: true }, isPending ? 'pending' : 'verified');
  if (!pooled.announced) events.verified(pooled.transaction);
  return true;
}

/**
 * Fills the queue `ready` with transactions that can be applied one after another, up to the maximum number of
 * transactions in a block. The transactions already in `ready` keep their places. Next come the transactions from
 * `pending` that have enough members' signatures, in the reverse order of their entry into `pending`. Transactions from
 * `verified` follow in the order in which they entered `verified`. If the function finds that one of these transactions
 * is invalid, it drops this transaction from the pool.
 *
 * The reference (lisk-sdk) checks only that each transaction is valid after the transactions before it. But each
 * transaction of a block must also be valid in the state before the block. After a revert, a transaction of the pool
 * can be invalid against the state at the tip, and become valid only when another transaction of the pool is applied.
 * An example is a vote for a delegate whose registration was reverted. A block with the registration and the vote would
 * be invalid, so a node with both in `ready` could not forge. This function therefore also verifies each transaction
 * alone against the state at the tip, including the transactions already in `ready`.
 */
export function fillReady(context: PoolContext, queues: PoolQueues, events: StepEvents): void {
  const { rules, state, verify } = context;
  const room = rules.params.transactionsPerBlockMax - queues.size('ready');
  const signed = queues.list('pending').filter(({ group }) => group !== 'pending');
  const signedFirst = signed.reverse().slice(0, Math.max(room, 0));
  const verified = queues.first('verified', room - signedFirst.length);

  const batch = [...queues.list('ready'), ...signedFirst, ...verified].filter((pooled) => {
    const verdict = verifyAtTip(context, pooled.transaction);
    if (verdict.status === 'fail') drop(queues, pooled, verdict.errors, events);
    return verdict.status !== 'fail';
  });
  if (batch.length === 0) return;

  const verdicts = rules.processTransactions(
    state(),
    batch.map(({ transaction }) => transaction),
    verify,
  );
  for (const [index, pooled] of batch.entries()) {
    const verdict = verdicts[index];
    if (verdict?.status === 'fail') drop(queues, pooled, verdict.errors, events);
    else if (verdict?.status === 'ok' && queues.stateOf(pooled.transaction.id) !== 'ready')
      queues.move(pooled, 'ready');
  }
}

function drop(queues: PoolQueues, pooled: Pooled, errors: readonly TransactionError[], events: StepEvents): void {
  queues.remove(pooled.transaction.id);
  events.dropped(pooled.transaction, errors);
}
