/** Signatures beside the primary one: the second signature and those of a group's members. */

import { bytesOfHex } from '../../primitives/bytes.ts';
import type { Account } from '../state.ts';
import type { PublicKey, Signature, SignatureOracle, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { membersOf } from './multisignature.ts';

/** Where a transaction stands with the signatures of a group. */
export interface GroupStanding {
  /** `none`: no group is involved. */
  readonly status: 'none' | 'pending' | 'ready' | 'fail';
  readonly errors: readonly TransactionError[];
}

const NONE: GroupStanding = { status: 'none', errors: [] };
const READY: GroupStanding = { status: 'ready', errors: [] };

/** @param digest 32 bytes that the holder of `publicKey` should have signed */
export function isSignedBy(
  publicKey: PublicKey,
  signature: Signature,
  digest: Uint8Array,
  verify: SignatureOracle,
): boolean {
  return verify({ publicKey: bytesOfHex(publicKey), message: digest, signature: bytesOfHex(signature) });
}

/** Errors of the second signature, which an account with a second key must give and no other may. */
export function secondSignatureErrors(
  transaction: Transaction,
  sender: Account,
  context: ApplyTransactionContext,
): TransactionError[] {
  const { id, signSignature } = transaction;
  if (sender.secondPublicKey === undefined) {
    if (signSignature === undefined) return [];
    return [transactionError(id, 'Sender does not have a secondPublicKey', '.signSignature')];
  }
  if (signSignature === undefined) return [transactionError(id, 'Missing signSignature', '.signSignature')];
  const digest = context.digests.secondSigningDigest(transaction);
  if (isSignedBy(sender.secondPublicKey, signSignature, digest, context.verify)) return [];
  return [transactionError(id, `Failed to validate signature ${signSignature}`, '.signature')];
}

/**
 * Standing with the group: a registration needs all its members, a transaction of a group `min` of them.
 *
 * @param sender the account before the transaction; undefined when nothing is known of it
 */
export function groupStanding(
  transaction: Transaction,
  sender: Account | undefined,
  context: ApplyTransactionContext,
): GroupStanding {
  const { payload, signatures } = transaction;
  if (payload.kind === 'multisignature') {
    const members = membersOf(payload.keysgroup);
    return memberStanding(transaction, members, members.length, context);
  }
  const group = sender?.group;
  if (group !== undefined && group.members.length > 0 && group.min > 0) {
    return memberStanding(transaction, group.members, group.min, context);
  }
  if (signatures.length === 0) return NONE;
  const error = transactionError(transaction.id, 'Sender is not a multisignature account', '.signatures');
  return { status: 'fail', errors: [error] };
}

function memberStanding(
  transaction: Transaction,
  members: readonly PublicKey[],
  min: number,
  context: ApplyTransactionContext,
): GroupStanding {
  const { id, signatures } = transaction;
  const excepted = context.exceptions.duplicatedSignatures.get(id) ?? [];
  const compared = signatures.filter((signature) => !excepted.includes(signature));
  if (new Set(compared).size !== compared.length) {
    const error = transactionError(id, 'Encountered duplicate signature in transaction', '.signatures');
    return { status: 'fail', errors: [error] };
  }
  // Too few wins over invalid ones, so nothing needs to be verified before there are enough.
  if (signatures.length < min) {
    const error = {
      name: 'TransactionPendingError',
      message: 'Missing signatures',
      id,
      dataPath: '.signatures',
    } as const;
    return { status: 'pending', errors: [error] };
  }
  const unmatched = unmatchedSignatures(transaction, members, context);
  if (unmatched.size === 0) return READY;
  const errors = [...unmatched].map((signature) =>
    transactionError(id, `Failed to validate signature ${signature}`, '.signatures'),
  );
  return { status: 'fail', errors };
}

/** Signatures that are of no member; each member answers for one at most, the first of his. */
export function unmatchedSignatures(
  transaction: Transaction,
  members: readonly PublicKey[],
  context: ApplyTransactionContext,
): ReadonlySet<Signature> {
  const digest = context.digests.signingDigest(transaction);
  const unmatched = new Set(transaction.signatures);
  for (const member of members) {
    for (const signature of unmatched) {
      if (!isSignedBy(member, signature, digest, context.verify)) continue;
      unmatched.delete(signature);
      break;
    }
  }
  return unmatched;
}
