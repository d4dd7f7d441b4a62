/** Signatures beside the primary one: the second signature and those of a group's members. */

import { bytesEqual, bytesOfHex } from '../../primitives/bytes.ts';
import type { Account } from '../state.ts';
import type { PublicKey, Signature, SignatureCheck, SignatureOracle, Transaction } from '../types.ts';
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
  const unmatched = firstUnmatchedSignature(transaction, members, context);
  if (unmatched === undefined) return READY;
  const error = transactionError(id, `Failed to validate signature ${unmatched}`, '.signatures');
  return { status: 'fail', errors: [error] };
}

/** Whose signature it is, by place in the group, with the question that was answered yes. */
interface Match {
  readonly memberIndex: number;
  readonly check: SignatureCheck;
}

/**
 * What was found of signatures of a transaction, so that each costs one check the next time, and none where answers are kept by
 * the object that asked. It is asked again all the same: nothing follows from it but the order of trying.
 */
const matches = new WeakMap<Transaction, ReadonlyMap<Signature, Match>>();

/**
 * The first signature that is of no member, or of one who has signed before in the list; undefined when each is of another
 * member. Each member answers for one signature.
 *
 * A signature does not say whose it is, so it is tried with each member who has not signed yet: at most 15 checks for the first
 * that is of nobody, which ends it, and 120 for fifteen good ones in the worst order. The reference goes on to the end, up to
 * 225, and names all that are of nobody; which transactions are valid is the same.
 */
export function firstUnmatchedSignature(
  transaction: Transaction,
  members: readonly PublicKey[],
  context: ApplyTransactionContext,
): Signature | undefined {
  const digest = context.digests.signingDigest(transaction);
  const before = matches.get(transaction);
  const found = new Map<Signature, Match>();
  const free = new Set(members.keys());
  for (const signature of new Set(transaction.signatures)) {
    const known = before?.get(signature);
    const match = matchOf(signature, known, free, members, digest, context.verify);
    if (match === undefined) return signature;
    free.delete(match.memberIndex);
    found.set(signature, match);
  }
  matches.set(transaction, found);
  return undefined;
}

function matchOf(
  signature: Signature,
  known: Match | undefined,
  free: ReadonlySet<number>,
  members: readonly PublicKey[],
  digest: Uint8Array,
  verify: SignatureOracle,
): Match | undefined {
  const bytes = bytesOfHex(signature);
  if (known !== undefined && free.has(known.memberIndex)) {
    const { publicKey, message } = known.check;
    const member = bytesOfHex(members[known.memberIndex] ?? '');
    const isAsked = bytesEqual(publicKey, member) && bytesEqual(message, digest);
    if (isAsked && verify(known.check)) return known;
  }
  for (const memberIndex of free) {
    const check = { publicKey: bytesOfHex(members[memberIndex] ?? ''), message: digest, signature: bytes };
    if (verify(check)) return { memberIndex, check };
  }
  return undefined;
}
