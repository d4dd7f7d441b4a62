/** What a transaction does to the state, and every reason why it must not. */

import { emptyAccount, withBalance, type Account, type StateWriter } from '../state.ts';
import type { Transaction } from '../types.ts';
import { transactionError, type TransactionError, type TransactionVerdict } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { applyApplication, applyInTransfer, applyOutTransfer } from './application.ts';
import { applyDelegate } from './delegate.ts';
import { settleVerdict } from './exceptions.ts';
import { applyMultisignature } from './multisignature.ts';
import { applySecondSignature } from './second-signature.ts';
import { groupStanding, secondSignatureErrors } from './signatures.ts';
import { keyAsWritten } from './written.ts';
import { applyTransfer, balanceError } from './transfer.ts';
import { applyVote } from './vote.ts';

const OK: TransactionVerdict = { status: 'ok' };

/**
 * Applies a transaction and tells whether that was allowed. Errors are gathered in their published order and the state is
 * changed in any case, as a listed exception may turn a failure into success: hand in an overlay and drop it when the
 * verdict is not `ok`. Weights of delegates are booked apart (`bookVoteWeight`). Keys of accounts are left in the letter case
 * that they were written in, as later transactions of the block are compared with it; `settleKeys` ends that.
 */
export function applyTransaction(
  state: StateWriter,
  transaction: Transaction,
  context: ApplyTransactionContext,
): TransactionVerdict {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors = senderErrors(transaction, sender, context);
  const standing = groupStanding(transaction, sender, context);
  errors.push(...standing.errors);
  const publicKey = sender.publicKey ?? keyAsWritten(transaction);
  state.setAccount(withBalance(sender, sender.balance - transaction.fee, publicKey));
  errors.push(...applyPayload(state, transaction, context));
  if (errors.length === 0) return OK;
  const pending = standing.status === 'pending' && errors.length === 1;
  const verdict: TransactionVerdict = { status: pending ? 'pending' : 'fail', errors };
  return settleVerdict(verdict, transaction, context.exceptions, context.dialect);
}

function senderErrors(transaction: Transaction, sender: Account, context: ApplyTransactionContext): TransactionError[] {
  const errors: TransactionError[] = [];
  const { id, fee } = transaction;
  const senderPublicKey = keyAsWritten(transaction);
  if (sender.publicKey !== undefined && sender.publicKey !== senderPublicKey) {
    const message = 'Invalid sender publicKey';
    errors.push(transactionError(id, message, '.senderPublicKey', senderPublicKey, sender.publicKey));
  }
  if (sender.balance < fee) errors.push(balanceError(transaction, sender.balance));
  errors.push(...secondSignatureErrors(transaction, sender, context));
  return errors;
}

function applyPayload(
  state: StateWriter,
  transaction: Transaction,
  context: ApplyTransactionContext,
): TransactionError[] {
  const { payload } = transaction;
  switch (payload.kind) {
    case 'transfer':
      return applyTransfer(state, transaction, payload);
    case 'secondSignature':
      return applySecondSignature(state, transaction, payload);
    case 'delegate':
      return applyDelegate(state, transaction, payload, context.dialect);
    case 'vote':
      return applyVote(state, transaction, payload);
    case 'multisignature':
      return applyMultisignature(state, transaction, payload);
    case 'dapp':
      return applyApplication(state, transaction, payload);
    case 'inTransfer':
      return applyInTransfer(state, transaction, payload);
    case 'outTransfer':
      return applyOutTransfer(state, transaction, payload);
  }
}
