/**
 * Verifies the second signature and the members' signatures (signatures by members of a multisignature group). Does not
 * verify the primary signature.
 */

import { bytesEqual, bytesOfHex } from '../../primitives/bytes.ts';
import type { Account } from '../state.ts';
import type { PublicKey, Signature, SignatureCheck, SignatureOracle, SignatureSearch, Transaction } from '../types.ts';
import { transactionError, type TransactionError } from '../verdict.ts';
import type { ApplyTransactionContext } from './apply-context.ts';
import { membersOf } from './multisignature.ts';

/** States whether a transaction has enough signatures of group members. */
export interface GroupSignatureStatus {
  /**
   * `none`: the transaction needs no members' signatures, and has none. `pending`: the transaction has fewer signatures
   * than it needs, and the node has verified none of them. `ready`: the transaction has enough signatures, and each of
   * them is valid. `fail` has three possible causes. First, a signature is invalid. Second, the same signature occurs
   * twice, and the network has no exception for this signature. Third, the transaction has members' signatures but does
   * not need them, because the transaction registers no group, and its sender is no multisignature account.
   */
  readonly status: 'none' | 'pending' | 'ready' | 'fail';
  readonly errors: readonly TransactionError[];
}

const NONE: GroupSignatureStatus = { status: 'none', errors: [] };
const READY: GroupSignatureStatus = { status: 'ready', errors: [] };

/** @param digest 32 bytes that the holder of `publicKey` should have signed */
export function isSignedBy(
  publicKey: PublicKey,
  signature: Signature,
  digest: Uint8Array,
  verify: SignatureOracle,
): boolean {
  return verify(checkOf(publicKey, digest, signature));
}

/**
 * Returns the errors of the second signature. A transaction needs a second signature if the sender's account has a
 * second key. If this account has no second key, the transaction must not have a second signature.
 */
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
 * Returns whether a transaction has enough valid signatures of group members. The registration of a group needs the
 * signatures of all members. Any other transaction of a multisignature account needs the signatures of at least `min`
 * members.
 *
 * @param sender the account before the transaction; undefined if the account does not exist
 */
export function groupSignatureStatus(
  transaction: Transaction,
  sender: Account | undefined,
  context: ApplyTransactionContext,
): GroupSignatureStatus {
  const group = groupConcerned(transaction, sender);
  if (group !== undefined) return memberStanding(transaction, group.members, group.min, context);
  if (transaction.signatures.length === 0) return NONE;
  const error = transactionError(transaction.id, 'Sender is not a multisignature account', '.signatures');
  return { status: 'fail', errors: [error] };
}

interface ConcernedGroup {
  readonly members: readonly PublicKey[];
  /** Minimum number of members who must sign the transaction. */
  readonly min: number;
}

function groupConcerned({ payload }: Transaction, sender: Account | undefined): ConcernedGroup | undefined {
  if (payload.kind === 'multisignature') {
    const members = membersOf(payload.keysgroup);
    return { members, min: members.length };
  }
  const group = sender?.group;
  return group !== undefined && group.members.length > 0 && group.min > 0 ? group : undefined;
}

function memberStanding(
  transaction: Transaction,
  members: readonly PublicKey[],
  min: number,
  context: ApplyTransactionContext,
): GroupSignatureStatus {
  const { id, signatures } = transaction;
  const excepted = context.exceptions.duplicatedSignatures.get(id) ?? [];
  const compared = signatures.filter((signature) => !excepted.includes(signature));
  if (new Set(compared).size !== compared.length) {
    const error = transactionError(id, 'Encountered duplicate signature in transaction', '.signatures');
    return { status: 'fail', errors: [error] };
  }
  // If the transaction has too few signatures, the function does not verify any signature. It reports only that
  // signatures are missing.
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

/**
 * States which member made a signature (`memberIndex` is the position of the member in the group), and contains the
 * signature check that succeeded.
 */
interface Match {
  readonly memberIndex: number;
  readonly check: SignatureCheck;
}

/**
 * For each transaction, caches which member made which signature. The next verification of the transaction tries the
 * cached member of a signature first, and therefore makes only one check for each signature. A match contains the check
 * object, because the signature cache finds the result of the check by this object. The cached matches change only the
 * order in which the verification tries the members, never its result.
 */
const matches = new WeakMap<Transaction, ReadonlyMap<Signature, Match>>();

/**
 * Looks for the member of the group that made each signature. A member can match only one signature. Returns the first
 * signature without a matching member; undefined if all signatures match.
 *
 * A signature does not show its signer. The function therefore tries the keys of all members that have no matching
 * signature yet, until one key matches. A group has at most 15 members. A signature that matches no member therefore
 * takes at most 15 checks, and ends the search. If 15 valid signatures are in the worst order, the search takes 120
 * checks. The reference (lisk-sdk) checks all signatures, which takes up to 225 checks, and reports each signature
 * without a match. This node and lisk-sdk accept the same transactions.
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

/**
 * Searches for the keys with which a transaction was signed: the second key and the keys of members. Other threads can
 * make the checks of a search before the transaction is verified. If the search finds a member for each signature, the
 * later verification of the transaction makes only one check for each signature. The signature cache already has the
 * results of these checks. If the search does not find all members, the verification tries the members as if there had
 * been no search. The search never changes the result of the verification.
 *
 * For 15 signatures of a group of 15 members, the search first checks each signature with the member at the same
 * position, which takes 15 checks. If the signatures are in the order of the members, the search then ends. In the
 * worst order, the search takes 127 checks in total. If the first signature matches no member, the search ends after at
 * most 14 further checks (29 in total).
 *
 * @param sender the account before the transaction
 */
export function* searchSigners(
  transaction: Transaction,
  sender: Account | undefined,
  digests: ApplyTransactionContext['digests'],
): SignatureSearch {
  const { signSignature } = transaction;
  if (sender?.secondPublicKey !== undefined && signSignature !== undefined) {
    const message = digests.secondSigningDigest(transaction);
    yield [checkOf(sender.secondPublicKey, message, signSignature)];
  }
  const group = groupConcerned(transaction, sender);
  const signatures = [...new Set(transaction.signatures)];
  if (group === undefined || signatures.length < group.min || signatures.length > group.members.length) return;
  yield* searchMembers(transaction, signatures, group.members, digests.signingDigest(transaction));
}

/**
 * Maximum number of members whose keys the search tries in one step for one signature. The maximum is small, because at
 * most one of the members matches, and the checks of all other members are wasted.
 */
const CANDIDATES_AT_ONCE_MAX = 8;

function* searchMembers(
  transaction: Transaction,
  signatures: readonly Signature[],
  members: readonly PublicKey[],
  digest: Uint8Array,
): SignatureSearch {
  const matchWith = (signature: Signature, memberIndex: number): Match => ({
    memberIndex,
    check: checkOf(members[memberIndex] ?? '', digest, signature),
  });
  const found = new Map<Signature, Match>();
  const free = new Set(members.keys());
  const keep = (signature: Signature, match: Match): void => {
    found.set(signature, match);
    free.delete(match.memberIndex);
  };
  // If all members have signed, the signatures are usually in the order of the members. The first step therefore tries
  // the n-th member for the n-th signature.
  const likely = signatures.map(matchWith);
  const answers = yield likely.map(({ check }) => check);
  for (const [index, match] of likely.entries()) if (answers[index] === true) keep(signatures[index] ?? '', match);
  for (const [index, signature] of signatures.entries()) {
    if (found.has(signature)) continue;
    const candidates = [...free].filter((memberIndex) => memberIndex !== index);
    for (let atOnce = 1; candidates.length > 0 && !found.has(signature); atOnce *= 2) {
      const some = candidates.splice(0, Math.min(atOnce, CANDIDATES_AT_ONCE_MAX));
      const matched = some.map((memberIndex) => matchWith(signature, memberIndex));
      const match = matched[(yield matched.map(({ check }) => check)).indexOf(true)];
      if (match !== undefined) keep(signature, match);
    }
    if (!found.has(signature)) return;
  }
  matches.set(transaction, found);
}

function checkOf(publicKey: PublicKey, message: Uint8Array, signature: Signature): SignatureCheck {
  return { publicKey: bytesOfHex(publicKey), message, signature: bytesOfHex(signature) };
}
