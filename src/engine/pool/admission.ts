/** May it enter? The checks in their order, each refusal with its reasons. */

import type { PoolState } from '../../ports/node-api.ts';
import { bytesEqual } from '../../primitives/bytes.ts';
import type { Transaction, TransactionId } from '../../protocol/types.ts';
import { timestampInFuture, transactionError, TransactionRejected } from '../../protocol/verdict.ts';
import { groupOf, isInFuture, typeErrorsOnEntry, validateAtTip, verifyAtTip, type PoolContext } from './checks.ts';
import type { Pooled, PoolQueues } from './queues.ts';
import type { Payer } from './verification-budget.ts';

/**
 * Takes a client's transaction: verified at once, so the client learns the verdict.
 *
 * @param receivedAtMs when it came, Unix time in milliseconds
 * @returns what was kept; it is in `verified`, or in `pending` when a group's signatures lack
 * @throws TransactionRejected with a code of every kind
 */
export function admitFromClient(
  context: PoolContext,
  queues: PoolQueues,
  payer: Payer,
  json: unknown,
  receivedAtMs: number,
): Pooled {
  const transaction = context.rules.codec.transactionFromJson(json);
  refuseAlteredCopy(context, queues, payer, transaction);
  checkedNew(context, queues, payer, transaction);
  const verdict = verifyAtTip(context, transaction);
  if (verdict.status === 'fail') throw new TransactionRejected('TRANSACTION_NOT_APPLICABLE', verdict.errors);
  const group = verdict.status === 'pending' ? 'pending' : groupOf(context, transaction);
  const state = verdict.status === 'pending' ? 'pending' : 'verified';
  return keep(queues, { transaction, receivedAtMs, group, announced: true }, state);
}

/**
 * Takes a peer's transaction into `received`; whether it fits the state is looked at in the next steps, unless it has
 * signatures of members: what those cost is charged to who brings them, and nobody is charged for a step.
 *
 * @throws TransactionRejected; see `isFaultOfSender`
 */
export function admitFromPeer(context: PoolContext, queues: PoolQueues, payer: Payer, json: unknown): Pooled {
  const transaction = context.rules.codec.transactionFromJson(json);
  // Peers can send far more than the steps take on. What finds no room must not cost a signature check.
  if (queues.isFull('received') && !queues.has(transaction.id)) throw full(transaction.id);
  checkedNew(context, queues, payer, transaction);
  if (transaction.signatures.length > 0) refuseSpoilt(context, transaction);
  const receivedAtMs = context.clock.nowMs();
  return keep(queues, { transaction, receivedAtMs, group: 'none', announced: false }, 'received');
}

/**
 * The id does not cover members' signatures, so anybody can spoil a copy with one that is none. Were it kept until it is
 * verified, the good copies that come meanwhile would be passed over, and nobody tells of them twice.
 */
function refuseSpoilt(context: PoolContext, transaction: Transaction): void {
  const verdict = verifyAtTip(context, transaction);
  if (verdict.status === 'fail') throw new TransactionRejected('TRANSACTION_NOT_APPLICABLE', verdict.errors);
}

/** True when whoever served the transaction could have known that it is worthless. */
export function isFaultOfSender(rejection: TransactionRejected): boolean {
  return (
    rejection.code === 'TRANSACTION_INVALID' ||
    rejection.code === 'TRANSACTION_TYPE_UNKNOWN' ||
    rejection.code === 'TRANSACTION_TYPE_NOT_ALLOWED'
  );
}

/**
 * Clients are told what is wrong with a copy of a waiting transaction before they are told that it waits. Generation 2 believes
 * the id until then, so that a copy may differ in anything. The signature is looked at where it is not the one that was good.
 *
 * @throws TransactionRejected `TRANSACTION_INVALID`, `VERIFICATION_LIMIT`
 */
function refuseAlteredCopy(context: PoolContext, queues: PoolQueues, payer: Payer, transaction: Transaction): void {
  const known = queues.get(transaction.id)?.transaction;
  if (known === undefined) return;
  const isSigned = isSignedAlike(context, known, transaction);
  if (!isSigned && !payer.mayAsk()) throw verificationLimit(transaction.id);
  const errors = validateAtTip(isSigned ? { ...context, verify: () => true } : context, transaction);
  if (errors.length > 0) throw new TransactionRejected('TRANSACTION_INVALID', errors);
}

function isSignedAlike({ rules }: PoolContext, known: Transaction, copy: Transaction): boolean {
  const [ofKnown, ofCopy] = [rules.primarySignatureChecks(known), rules.primarySignatureChecks(copy)];
  return (
    ofKnown.length === ofCopy.length &&
    ofKnown.every((check, index) => {
      const other = ofCopy[index];
      return (
        other !== undefined &&
        bytesEqual(check.message, other.message) &&
        bytesEqual(check.signature, other.signature) &&
        bytesEqual(check.publicKey, other.publicKey)
      );
    })
  );
}

/**
 * Refuses a transaction unless it is signed, new and not from the future.
 *
 * The reference looks at the signature before it asks whether the id is known. A peer is not told why, so that here the other
 * order saves a signature check for each repetition.
 */
function checkedNew(context: PoolContext, queues: PoolQueues, payer: Payer, transaction: Transaction): void {
  const { id } = transaction;

  const typeErrors = typeErrorsOnEntry(context, transaction);
  if (typeErrors.length > 0) throw new TransactionRejected('TRANSACTION_TYPE_NOT_ALLOWED', typeErrors);

  if (queues.has(id)) {
    const error = transactionError(id, `Transaction is already processed: ${id}`, '.id');
    throw new TransactionRejected('TRANSACTION_KNOWN', [error]);
  }

  if (!payer.mayAsk()) throw verificationLimit(id);
  const errors = validateAtTip(context, transaction);
  if (errors.length > 0) throw new TransactionRejected('TRANSACTION_INVALID', errors);

  const fault = context.rules.poolFault(transaction);
  if (fault !== undefined) throw new TransactionRejected('TRANSACTION_NOT_APPLICABLE', [fault]);

  if (isInFuture(context, transaction)) {
    throw new TransactionRejected('TRANSACTION_IN_FUTURE', [timestampInFuture(id)]);
  }

  if (context.state().hasTransaction(id)) {
    const error = transactionError(id, `Transaction is already confirmed: ${id}`, '.id');
    throw new TransactionRejected('TRANSACTION_KNOWN', [error]);
  }
}

/** For whoever has had as many signatures checked as it may. */
export function verificationLimit(id: TransactionId): TransactionRejected {
  const error = transactionError(id, 'Too many signatures to verify, please try again later.', '');
  return new TransactionRejected('VERIFICATION_LIMIT', [error]);
}

function keep(queues: PoolQueues, pooled: Pooled, state: PoolState): Pooled {
  if (queues.add(state, pooled)) return pooled;
  throw full(pooled.transaction.id);
}

function full(id: TransactionId): TransactionRejected {
  return new TransactionRejected('POOL_FULL', [transactionError(id, 'Transaction pool is full', '')]);
}
