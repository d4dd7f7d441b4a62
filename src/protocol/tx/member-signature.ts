/** Signatures that members of a group add to a transaction in the pool. */

import type { StateReader } from '../state.ts';
import type { MemberSignature, Transaction } from '../types.ts';
import { transactionError, type MemberSignatureRefusal, type TransactionError } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { membersOf } from './multisignature.ts';
import { groupStanding, isSignedBy } from './signatures.ts';

/**
 * Adds a member's signature.
 *
 * @param added hexadecimal texts of either letter case, their formats checked
 * @returns the transaction with it and whether the group's signatures are complete, or the errors that refuse it
 */
export function addMemberSignature(
  state: StateReader,
  transaction: Transaction,
  added: MemberSignature,
  context: ApplyTransactionContext,
): { readonly transaction: Transaction; readonly complete: boolean } | MemberSignatureRefusal {
  const publicKey = added.publicKey.toLowerCase();
  const signature = added.signature.toLowerCase();
  const unfit = unfitness(state, transaction, { ...added, publicKey, signature });
  if (unfit !== undefined) return { kind: 'unfit', errors: [unfit] };
  if (!isSignedBy(publicKey, signature, context.digests.signingDigest(transaction), context.verify)) {
    const quoted = transaction.payload.kind === 'multisignature' ? signature : `'${signature}'`;
    const error = transactionError(transaction.id, `Failed to add signature ${quoted}.`, '.signatures');
    return { kind: 'false', errors: [error] };
  }
  const signed = { ...transaction, signatures: [...transaction.signatures, signature] };
  const standing = groupStanding(signed, state.account(transaction.senderId), context);
  if (standing.status === 'fail') return { kind: 'surplus', errors: standing.errors };
  return { transaction: signed, complete: standing.status === 'ready' };
}

/** What can be held against it before it is verified. */
function unfitness(
  state: StateReader,
  transaction: Transaction,
  { publicKey, signature }: MemberSignature,
): TransactionError | undefined {
  const { id, payload, senderId, signatures } = transaction;
  const registers = payload.kind === 'multisignature';
  const members = registers ? membersOf(payload.keysgroup) : state.account(senderId)?.group?.members;
  // The reference verifies it first and then says the same. Here any key could ask for checks without end.
  if (members === undefined) return transactionError(id, 'Sender is not a multisignature account', '.signatures');
  if (!members.includes(publicKey)) {
    const owner = registers ? '' : ` for account '${senderId}'`;
    return transactionError(id, `Public Key '${publicKey}' is not a member${owner}.`, '');
  }
  if (!signatures.includes(signature)) return undefined;
  const message = registers
    ? 'Encountered duplicate signature in transaction'
    : `Signature '${signature}' already present in transaction.`;
  return transactionError(id, message, '');
}
