/**
 * Defines the stored form (record) of a transaction. A record has four parts: the bytes from which the id is computed,
 * the members' signatures, additional data, and two final bytes. The first final byte is the number of members'
 * signatures. The second final byte contains flags. The flags state whether the transaction has a second signature, and
 * which items of the additional data are present. The additional data consist of these items, in this order. Each item
 * is present only if the node could not restore the transaction without this item:
 *
 * - the fee, if it is not the usual fee of the transaction type, for example in a genesis block;
 * - the id, if it is not the computed id (only for layouts that are not `networkBound`);
 * - the recipient's key (`recipientPublicKey`);
 * - the data of the payload that the first part of the record does not contain (`TransactionLayout.detail`);
 * - a JSON text with members of the transaction in the form in which the sender wrote them. Only `senderPublicKey`,
 *   `asset` and `signatures` can be in this text. A member is in the text if nodes would write the member in another
 *   form than the sender did.
 *
 * The node reads a record from the end to the start, because the flags are at the end. No other bytes are therefore
 * needed before the bytes from which the id is computed.
 */

import { addressOf } from '../../crypto/keys.ts';
import { idOf } from '../../crypto/hash.ts';
import { bytesOfHex, hexOf, isCanonicalHex, u64be } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { Address, PublicKey, Signature, Transaction, TransactionId, OriginalJson } from '../types.ts';
import type { TransactionBytes } from './transaction-bytes.ts';
import type { TransactionLayout } from './transaction-type.ts';

const HAS_SECOND_SIGNATURE = 1;
const HAS_FEE = 2;
const HAS_ID = 4;
const HAS_RECIPIENT_KEY = 8;
const HAS_DETAIL = 16;
const HAS_WRITTEN = 32;
const KNOWN_FLAGS = 63;
const SIGNATURE_BYTES = 64;

type Layouts = ReadonlyMap<number, TransactionLayout>;

export function encodeTransaction(
  transaction: Transaction,
  { transactionBytes, computedId }: Pick<TransactionBytes, 'transactionBytes' | 'computedId'>,
  layouts: Layouts,
): Buffer {
  const bytes = transactionBytes(transaction);
  const { signatures, signSignature, fee, payload, recipientPublicKey } = transaction;
  const layout = layouts.get(transaction.type);
  const parts: Buffer[] = signatures.length === 0 ? [] : [Buffer.from(signatures.join(''), 'hex')];
  let flags = signSignature === undefined ? 0 : HAS_SECOND_SIGNATURE;
  if (fee !== layout?.fee(payload)) {
    flags |= HAS_FEE;
    parts.push(u64be(fee));
  }
  // The id of a transaction can differ from the computed id in two cases: the transaction is part of a genesis block of
  // generation 2, or the network has an exception for the transaction.
  if (layout?.networkBound === false && transaction.id !== computedId(transaction)) {
    flags |= HAS_ID;
    parts.push(u64be(BigInt(transaction.id)));
  }
  if (recipientPublicKey !== undefined) {
    flags |= HAS_RECIPIENT_KEY;
    parts.push(bytesOfHex(recipientPublicKey));
  }
  const detail = layout?.detail?.(payload);
  if (detail !== undefined) {
    flags |= HAS_DETAIL;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(detail.length);
    parts.push(detail, length);
  }
  const written = writtenBytes(transaction);
  if (written !== undefined) {
    flags |= HAS_WRITTEN;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(written.length);
    parts.push(written, length);
  }
  const record = Buffer.allocUnsafe(parts.reduce((length, part) => length + part.length, bytes.length + 2));
  let end = bytes.copy(record);
  for (const part of parts) end += part.copy(record, end);
  record[end] = signatures.length;
  record[end + 1] = flags;
  return record;
}

/**
 * @param knownId the id, if the caller knows it; otherwise the function reads the id from the record or computes it
 * @param knownSenderId the sender's address, if the caller knows it; otherwise the function computes the address
 * @throws ProtocolError `TRANSACTION_BYTES_INVALID` for bytes of a wrong form or length
 */
export function decodeTransaction(
  stored: Uint8Array,
  layouts: Layouts,
  knownId?: TransactionId,
  knownSenderId?: Address,
): Transaction {
  const record = Buffer.isBuffer(stored) ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const layout = layouts.get(record[0] ?? -1);
  const count = record[record.length - 2] ?? 0;
  const flags = record[record.length - 1] ?? 0;
  if (layout === undefined || (flags & ~KNOWN_FLAGS) !== 0) throw invalid(record);
  const extras = (flags & ~HAS_SECOND_SIGNATURE) === 0 ? NO_EXTRAS : extrasOf(record, flags);
  const end = record.length - 2 - extras.length;
  const membersAt = end - count * SIGNATURE_BYTES;
  const secondAt = membersAt - (flags & HAS_SECOND_SIGNATURE ? SIGNATURE_BYTES : 0);
  const signatureAt = secondAt - SIGNATURE_BYTES;
  if (signatureAt <= 0) throw invalid(record);

  const { type, timestamp, senderPublicKey, payload } = layout.decodeBasic(record, signatureAt, extras.detail);
  const { id, fee, recipientPublicKey, written, signatures } = extras;
  const transaction = {
    id: knownId ?? id ?? idOf(record.subarray(0, membersAt)),
    type,
    timestamp,
    senderPublicKey,
    senderId: knownSenderId ?? addressOf(senderPublicKey),
    fee: fee ?? layout.fee(payload),
    payload,
    signature: record.toString('hex', signatureAt, secondAt),
    signatures: count === 0 ? NO_SIGNATURES : (signatures ?? signaturesIn(record, membersAt, end)),
  };
  if (secondAt === membersAt && extras === NO_EXTRAS) return transaction;
  return {
    ...transaction,
    ...(secondAt === membersAt ? {} : { signSignature: record.toString('hex', secondAt, membersAt) }),
    ...(recipientPublicKey === undefined ? {} : { recipientPublicKey }),
    ...(written === undefined ? {} : { written }),
  };
}

/** The additional data of a record. */
interface Extras {
  /** Total number of bytes of the additional data. */
  readonly length: number;
  readonly detail?: Buffer;
  readonly recipientPublicKey?: PublicKey;
  readonly id?: TransactionId;
  readonly fee?: bigint;
  readonly written?: OriginalJson;
  /**
   * The members' signatures in the letter case in which the node received them. The value is undefined if no member's
   * signature has upper-case letters. In this case, the texts that `signaturesIn` returns are correct, because
   * `signaturesIn` returns all signatures in lower case.
   */
  readonly signatures?: readonly Signature[];
}

const NO_EXTRAS: Extras = { length: 0 };
const NO_SIGNATURES: readonly Signature[] = [];

function extrasOf(record: Buffer, flags: number): Extras {
  let end = record.length - 2;
  const takeIf = (flag: number, length: number): Buffer | undefined => {
    if ((flags & flag) === 0) return undefined;
    end -= length;
    if (end < 0) throw invalid(record);
    return record.subarray(end, end + length);
  };
  const written = takeIf(HAS_WRITTEN, takeIf(HAS_WRITTEN, 4)?.readUInt32BE(0) ?? 0);
  const detail = takeIf(HAS_DETAIL, takeIf(HAS_DETAIL, 2)?.readUInt16BE(0) ?? 0);
  const recipientKey = takeIf(HAS_RECIPIENT_KEY, 32);
  const id = takeIf(HAS_ID, 8);
  const fee = takeIf(HAS_FEE, 8);
  return {
    length: record.length - 2 - end,
    ...(detail === undefined ? {} : { detail }),
    ...(recipientKey === undefined ? {} : { recipientPublicKey: hexOf(recipientKey) }),
    ...(id === undefined ? {} : { id: id.readBigUInt64BE(0).toString() }),
    ...(fee === undefined ? {} : { fee: fee.readBigUInt64BE(0) }),
    ...(written === undefined ? {} : readWritten(record, written)),
  };
}

/**
 * Returns the JSON text of `written` (the members `senderPublicKey` and `asset`, if the node must store them in the
 * form in which the sender wrote them). If the signature of a group member has upper-case letters, the JSON text also
 * contains the signatures of all group members who signed. Returns undefined if the JSON text would have no member.
 */
function writtenBytes({ written, signatures }: Transaction): Buffer | undefined {
  const isUsual = signatures.every((signature) => isCanonicalHex(signature, SIGNATURE_BYTES));
  if (written === undefined && isUsual) return undefined;
  return Buffer.from(JSON.stringify({ ...written, ...(isUsual ? {} : { signatures }) }));
}

function readWritten(record: Buffer, bytes: Buffer): Pick<Extras, 'written' | 'signatures'> {
  try {
    const { signatures, ...written } = JSON.parse(bytes.toString('utf8')) as OriginalJson & Pick<Extras, 'signatures'>;
    return {
      ...(Object.keys(written).length === 0 ? {} : { written }),
      ...(signatures === undefined ? {} : { signatures }),
    };
  } catch {
    throw invalid(record);
  }
}

function signaturesIn(record: Buffer, from: number, end: number): Signature[] {
  const signatures: Signature[] = [];
  for (let at = from; at < end; at += SIGNATURE_BYTES)
    signatures.push(record.toString('hex', at, at + SIGNATURE_BYTES));
  return signatures;
}

function invalid(record: Buffer): ProtocolError {
  return new ProtocolError('TRANSACTION_BYTES_INVALID', { length: record.length, type: record[0] });
}
