/** Decides whether a transaction can enter the pool. */

import type { PoolState } from '../../ports/node-api.ts';
import { bytesEqual } from '../../primitives/bytes.ts';
import type { Transaction, TransactionId } from '../../protocol/types.ts';
import { timestampInFuture, transactionError, TransactionRejected } from '../../protocol/verdict.ts';
import { groupOf, isInFuture, typeErrorsOnEntry, validateAtTip, verifyAtTip, type PoolContext } from './checks.ts';
import type { Pooled, PoolQueues } from './queues.ts';
import type { Payer } from './verification-budget.ts';

/**
 * Verifies a client's transaction immediately, so that the client gets the result, and adds the transaction to the
 * pool.
 *
 * @param receivedAtMs time of arrival; Unix time in milliseconds
 * @returns the pool's entry, which is in the queue `verified`, or in the queue `pending` if members' signatures are
 *   missing
 * @throws TransactionRejected if any check fails, or if the pool is full
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
 * Checks a peer's transaction. Makes all checks that read no account from the state. Then puts the transaction into the
 * queue `received`. Later, `TransactionPool.verifyReceived` or `TransactionPool.step` verifies the transaction against
 * the state. `step` charges its signature checks to no verification budget. If the transaction has members' signatures,
 * this function therefore verifies the transaction against the state immediately. `TransactionPool.receive` calls this
 * function, and charges the signature checks to the peer's budget.
 *
 * @throws TransactionRejected if a check fails, or if the queue is full; `isFaultOfSender` decides whether the peer is
 *   at fault
 */
export function admitFromPeer(
  context: PoolContext,
  queues: PoolQueues,
  payer: Payer,
  transaction: Transaction,
): Pooled {
  // Peers can send far more transactions than the pool can verify. If the queue `received` is full, the node refuses a
  // new transaction without checking its signature.
  if (queues.isFull('received') && !queues.has(transaction.id)) throw full(transaction.id);
  checkedNew(context, queues, payer, transaction);
  if (transaction.signatures.length > 0) refuseJunkSignatures(context, transaction);
  const receivedAtMs = context.clock.nowMs();
  return keep(queues, { transaction, receivedAtMs, group: 'none', announced: false }, 'received');
}

/**
 * Refuses a transaction that is invalid in the state. For example, refuses a multisignature transaction that has as
 * many members' signatures as it needs, if one of these signatures is false. The id does not cover the members'
 * signatures, so anybody can copy a good transaction and put false signatures into the copy. If the pool accepted the
 * false copy, the pool would refuse the good transaction, because the pool would already have a transaction with the
 * same id. Most peers announce a transaction only once, so the node would not get the good transaction later.
 *
 * If a multisignature transaction has fewer members' signatures than it needs, the function does not verify these
 * signatures. When such a transaction gets further signatures, `Rules.addMemberSignature` removes the false signatures
 * that it finds.
 */
function refuseJunkSignatures(context: PoolContext, transaction: Transaction): void {
  const verdict = verifyAtTip(context, transaction);
  if (verdict.status === 'fail') throw new TransactionRejected('TRANSACTION_NOT_APPLICABLE', verdict.errors);
}

/**
 * Returns true if the sending peer could have known that the transaction is invalid. In this case, the peer is at
 * fault.
 */
export function isFaultOfSender(rejection: TransactionRejected): boolean {
  return (
    rejection.code === 'TRANSACTION_INVALID' ||
    rejection.code === 'TRANSACTION_TYPE_UNKNOWN' ||
    rejection.code === 'TRANSACTION_TYPE_NOT_ALLOWED'
  );
}

/**
 * Checks a transaction whose id is already in the pool. If the new copy is invalid, the client gets the error of the
 * copy instead of the message that the transaction is known. In generation 2, the node takes the id from the JSON that
 * the client sent, so all other fields of the copy can differ. The function compares the copy with the transaction in
 * the pool. It verifies the signature of the copy only if the signature, the public key or the signed bytes differ.
 *
 * @throws TransactionRejected `TRANSACTION_INVALID` if the copy is invalid; `VERIFICATION_LIMIT` if the payer's budget
 *   does not allow the check of the copy's signature
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
 * Checks a new transaction. Makes all checks that read no account from the state.
 *
 * The reference (lisk-sdk) checks the signature before it checks whether the id is known. This node looks for the id in
 * the pool first, so a repeated transaction costs no signature check. A peer notices no difference, because a peer does
 * not get the reason for a refusal.
 *
 * @throws TransactionRejected if a check fails, or if the payer's budget does not allow the signature check
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

/**
 * Creates the rejection of a transaction or of a member's signature. The reason for this rejection is that the
 * verification budget of the sender, or of the sender's budget group, is used up.
 */
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
