/** Adds members' signatures to pending transactions of multisignature accounts. */

import { ProtocolError } from '../../primitives/errors.ts';
import { isU64Decimal } from '../../primitives/bytes.ts';
import type { MemberSignature } from '../../protocol/types.ts';
import { transactionError, TransactionRejected } from '../../protocol/verdict.ts';
import { verificationLimit } from './admission.ts';
import type { PoolContext } from './checks.ts';
import type { Pooled, PoolQueues } from './queues.ts';
import type { Payer } from './verification-budget.ts';

/**
 * Reads the fields `transactionId`, `publicKey` and `signature` from JSON, and ignores other fields.
 *
 * @throws ProtocolError `SIGNATURE_MALFORMED` if a field is missing or has a wrong format
 */
export function memberSignatureFromJson(json: unknown): MemberSignature {
  if (typeof json !== 'object' || json === null) throw malformed('Unable to process signature, signature not provided');
  const { transactionId, publicKey, signature } = json as Readonly<Record<string, unknown>>;
  // The format of lisk-sdk allows leading zeros in an id. No transaction has such an id, so `addMemberSignature` later
  // refuses the signature.
  if (typeof transactionId !== 'string' || !isU64Decimal(transactionId.replace(/^0+(?=[0-9])/, ''))) {
    throw malformed('should match format "id"');
  }
  if (!isHexOf(publicKey, 32)) throw malformed('should match format "publicKey"');
  if (!isHexOf(signature, 64)) throw malformed('should match format "signature"');
  return inLowerCase({ transactionId, publicKey, signature });
}

/**
 * Returns the signature with the key and the signature text in lower case. A client or a peer can write both in upper
 * or lower case. The pool and the journal compare keys and signatures as texts, so the pool and the journal store these
 * texts in lower case.
 */
export function inLowerCase({ transactionId, publicKey, signature }: MemberSignature): MemberSignature {
  return { transactionId, publicKey: publicKey.toLowerCase(), signature: signature.toLowerCase() };
}

/**
 * Adds a member's signature to the pending transaction that the signature names. When the transaction has enough
 * signatures, the field `group` of its entry (`Pooled`) becomes `ready`. The transaction stays in the queue `pending`
 * until the next call of `TransactionPool.step` moves the transaction.
 *
 * Each member can add only one signature to a transaction. Without this limit, a member could send any number of
 * different valid signatures of one transaction, and the node would have to verify each signature. The reference
 * (lisk-sdk) accepts several signatures of one member. In lisk-sdk, a transaction can therefore have the required
 * number of signatures from too few members.
 *
 * @throws TransactionRejected with one of three codes. `MEMBER_SIGNATURE_FALSE`: the signature is not valid for the
 *   given public key. `TRANSACTION_INVALID`: the public key belongs to no member, the member has already signed, or no
 *   pending transaction has the id. `VERIFICATION_LIMIT`: the payer's budget is used up
 */
export function addMemberSignature(
  context: PoolContext,
  queues: PoolQueues,
  payer: Payer,
  added: MemberSignature,
): Pooled {
  const { transactionId } = added;
  const pooled = queues.stateOf(transactionId) === 'pending' ? queues.get(transactionId) : undefined;
  if (pooled === undefined) {
    const message = 'Unable to process signature, corresponding transaction not found';
    throw new TransactionRejected('TRANSACTION_INVALID', [transactionError('', message, '.signature')]);
  }
  refuseSecondOf(pooled, added);
  if (!payer.mayAsk()) throw verificationLimit(transactionId);
  const result = context.rules.addMemberSignature(context.state(), pooled.transaction, added, context.verify);
  if ('errors' in result) {
    throw new TransactionRejected(
      result.kind === 'false' ? 'MEMBER_SIGNATURE_FALSE' : 'TRANSACTION_INVALID',
      result.errors,
    );
  }
  const { transaction, complete } = result;
  const signers = [...(pooled.signers ?? []), added.publicKey];
  const signed: Pooled = { ...pooled, signers, transaction, group: complete ? 'ready' : 'pending' };
  queues.replace(signed);
  return signed;
}

/** @throws TransactionRejected `TRANSACTION_INVALID` for a second, different signature of a member */
function refuseSecondOf({ transaction, signers = [] }: Pooled, { publicKey, signature }: MemberSignature): void {
  // If a member sends one signature twice, the rules refuse the second copy with the error message of lisk-sdk.
  if (!signers.includes(publicKey) || transaction.signatures.includes(signature)) return;
  const message = `Member '${publicKey}' has signed the transaction already.`;
  throw new TransactionRejected('TRANSACTION_INVALID', [transactionError(transaction.id, message, '.signatures')]);
}

function isHexOf(value: unknown, byteLength: number): value is string {
  return typeof value === 'string' && value.length === byteLength * 2 && /^[0-9a-fA-F]+$/.test(value);
}

function malformed(message: string): ProtocolError {
  return new ProtocolError('SIGNATURE_MALFORMED', {}, message);
}
