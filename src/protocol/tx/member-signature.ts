/** Signatures that members of a group add to a transaction in the pool. */

import type { StateReader } from '../state.ts';
import type { MemberSignature, PublicKey, Transaction } from '../types.ts';
import { transactionError, type MemberSignatureRefusal, type TransactionError } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { membersOf } from './multisignature.ts';
import { firstUnmatchedSignature, groupStanding, isSignedBy } from './signatures.ts';

/**
 * Adds a member's signature.
 *
 * Signatures that came with the transaction are not looked at before there are enough, and anybody can put some of nobody's into
 * a copy. When they are found out they give way, and so does a second one of a member. The reference keeps them, and refuses
 * every signature from then on.
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
  // One goes at a time, and none while there are too few: each signature that is added pays for one of nobody's at most.
  for (;;) {
    const { status } = groupStanding(signed, sender, context);
    const unmatched = status === 'fail' ? firstUnmatchedSignature(signed, members ?? [], context) : undefined;
    if (unmatched === undefined) return { transaction: signed, complete: status === 'ready' };
    signed = { ...signed, signatures: signed.signatures.filter((each) => each !== unmatched) };
  }
}

function membersFor(state: StateReader, { payload, senderId }: Transaction): readonly PublicKey[] | undefined {
  if (payload.kind === 'multisignature') return membersOf(payload.keysgroup);
  return state.account(senderId)?.group?.members;
}

/** What can be held against it before it is verified. */
function unfitness(
  members: readonly PublicKey[] | undefined,
  { id, payload, senderId, signatures }: Transaction,
  { publicKey, signature }: MemberSignature,
): TransactionError | undefined {
  const registers = payload.kind === 'multisignature';
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
