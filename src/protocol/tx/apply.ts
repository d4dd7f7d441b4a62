/** Applies a transaction to the state, and reports the errors that make the transaction invalid. */

import { emptyAccount, withBalance, type Account, type StateWriter } from '../state.ts';
import type { Transaction } from '../types.ts';
import { transactionError, type TransactionError, type TransactionVerdict } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { applyApplication, applyInTransfer, applyOutTransfer } from './application.ts';
import { applyDelegate } from './delegate.ts';
import { settleVerdict } from './exceptions.ts';
import { applyMultisignature } from './multisignature.ts';
import { applySecondSignature } from './second-signature.ts';
import { groupSignatureStatus, secondSignatureErrors } from './signatures.ts';
import { keyAsWritten } from './unsigned-json.ts';
import { applyTransfer, balanceError } from './transfer.ts';
import { applyVote } from './vote.ts';

const OK: TransactionVerdict = { status: 'ok' };

/**
 * Applies a transaction, and returns its verdict. The function collects errors in the order in which lisk-sdk finds the
 * errors. The function changes the state even if the transaction has errors, because an exception of the network can
 * turn a failure into a success. The caller should therefore pass an overlay, and drop the overlay if the verdict is
 * not `ok`.
 *
 * `applyTransaction` does not change vote weights. The separate function `applyVoteWeight` changes vote weights. If a
 * transaction of a block sets the public key of an account, the key keeps its letter case until the end of the block,
 * as in lisk-sdk. Later transactions of the account in the block must state the key in this letter case. After the
 * block, `lowerKeys` converts such keys to lower case.
 */
export function applyTransaction(
  state: StateWriter,
  transaction: Transaction,
  context: ApplyTransactionContext,
): TransactionVerdict {
  const sender = state.account(transaction.senderId) ?? emptyAccount(transaction.senderId);
  const errors = senderErrors(transaction, sender, context);
  const signatures = groupSignatureStatus(transaction, sender, context);
  errors.push(...signatures.errors);
  const publicKey = sender.publicKey ?? keyAsWritten(transaction);
  state.setAccount(withBalance(sender, sender.balance - transaction.fee, publicKey));
  errors.push(...applyPayload(state, transaction, context));
  if (errors.length === 0) return OK;
  const pending = signatures.status === 'pending' && errors.length === 1;
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
