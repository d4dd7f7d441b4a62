/** Adds members' signatures to a transaction in the pool. */

import type { StateReader } from '../state.ts';
import type { MemberSignature, PublicKey, Transaction } from '../types.ts';
import { transactionError, type MemberSignatureRefusal, type TransactionError } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { membersOf } from './multisignature.ts';
import { firstUnmatchedSignature, groupSignatureStatus, isSignedBy } from './signatures.ts';

/**
 * Adds a signature of a group member to a transaction.
 *
 * The node verifies the signatures that arrived with the transaction only when the transaction has as many signatures
 * as it needs. Until then, the transaction can have false signatures, because anybody can add a false signature to a
 * copy of the transaction. The function removes the false signatures that it finds. If a member has several signatures,
 * the function keeps only the first. The reference (lisk-sdk) keeps false signatures, and then refuses every further
 * signature.
 *
 * @param added the signature to add, in a form that the caller has checked; its hexadecimal texts can be in upper case
 * @returns the transaction with the added signature. The member `complete` of the result is true if this transaction
 *   has all signatures that it needs. If the function refuses the signature, it returns the refusal instead
 */
export function addMemberSignature(
  state: StateReader,
  transaction: Transaction,
  added: MemberSignature,
  context: ApplyTransactionContext,
): { readonly transaction: Transaction; readonly complete: boolean } | MemberSignatureRefusal {
  const publicKey = added.publicKey.toLowerCase();
  const signature = added.signature.toLowerCase();
  const members = membersFor(state, transaction);
  const unfit = unfitness(members, transaction, { ...added, publicKey, signature });
  if (unfit !== undefined) return { kind: 'unfit', errors: [unfit] };
  if (!isSignedBy(publicKey, signature, context.digests.signingDigest(transaction), context.verify)) {
    const quoted = transaction.payload.kind === 'multisignature' ? signature : `'${signature}'`;
    const error = transactionError(transaction.id, `Failed to add signature ${quoted}.`, '.signatures');
    return { kind: 'false', errors: [error] };
  }
  const sender = state.account(transaction.senderId);
  let signed = { ...transaction, signatures: [...transaction.signatures, signature] };
  // The loop removes one false signature at a time. The loop stops when all signatures are valid, or when the
  // transaction has too few signatures. Usually, a pending transaction lacks at least one signature before the
  // addition. After the addition and one removal, the transaction has too few signatures again, so the loop stops.
  for (;;) {
    const { status } = groupSignatureStatus(signed, sender, context);
    const unmatched = status === 'fail' ? firstUnmatchedSignature(signed, members ?? [], context) : undefined;
    if (unmatched === undefined) return { transaction: signed, complete: status === 'ready' };
    signed = { ...signed, signatures: signed.signatures.filter((each) => each !== unmatched) };
  }
}

function membersFor(state: StateReader, { payload, senderId }: Transaction): readonly PublicKey[] | undefined {
  if (payload.kind === 'multisignature') return membersOf(payload.keysgroup);
  return state.account(senderId)?.group?.members;
}

/**
 * The reason why the node refuses a signature without verifying the signature; undefined if the node must verify the
 * signature.
 */
function unfitness(
  members: readonly PublicKey[] | undefined,
  { id, payload, senderId, signatures }: Transaction,
  { publicKey, signature }: MemberSignature,
): TransactionError | undefined {
  const registers = payload.kind === 'multisignature';
  // The reference (lisk-sdk) verifies the signature before it answers that the sender is no multisignature account.
  // This node answers without verifying the signature, so that a peer or client cannot cause an unlimited number of
  // signature checks.
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
