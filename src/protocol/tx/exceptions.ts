/**
 * Handles exceptions: transactions of live networks that count as valid although a check fails. For most exceptions,
 * `isExcepted` looks only at the `dataPath` of the first error, so the order of the errors is a consensus rule.
 */

import type { Exceptions } from '../params.ts';
import type { Transaction } from '../types.ts';
import type { TransactionError, TransactionVerdict } from '../verdict.ts';
import type { TransactionDialect } from './apply-context.ts';

/**
 * Returns the verdict `ok` if the network has an exception for the transaction and its errors. Otherwise, returns
 * `verdict` unchanged.
 */
export function settleVerdict(
  verdict: TransactionVerdict,
  transaction: Transaction,
  exceptions: Exceptions,
  dialect: TransactionDialect,
): TransactionVerdict {
  if (verdict.status === 'ok') return verdict;
  return isExcepted(verdict.errors, transaction, exceptions, dialect) ? { status: 'ok' } : verdict;
}

export function isExcepted(
  errors: readonly TransactionError[],
  transaction: Transaction,
  exceptions: Exceptions,
  dialect: TransactionDialect,
): boolean {
  const { id } = transaction;
  const path = errors[0]?.dataPath;
  const alone = errors.length === 1;
  switch (path) {
    case '.senderPublicKey':
      return exceptions.senderPublicKey.has(id);
    case '.signature':
      return exceptions.signatures.has(id);
    case '.signSignature':
      return exceptions.signSignature.has(id);
    case '.asset.votes':
    case '.amount':
      return exceptions.votes.has(id);
    case '.data':
      return alone && exceptions.transactionWithNullByte.has(id);
    case dialect.multisignatureMinPath:
      return alone && exceptions.multisignatures.has(id);
    case '.recipientId': {
      const recipientId = 'recipientId' in transaction.payload ? transaction.payload.recipientId : undefined;
      if (recipientId === undefined) return false;
      if (exceptions.recipientLeadingZero.get(id) === recipientId) return true;
      return alone && exceptions.recipientExceedingUint64.get(id) === recipientId;
    }
    case '.signatures':
      return exceptions.duplicatedSignatures.has(id) && errors.every((error) => error.dataPath === '.signatures');
    default:
      return false;
  }
}
