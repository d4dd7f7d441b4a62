/**
 * Stored form of a transaction: the bytes that the id covers, then member signatures, then what does not follow from these,
 * each only where it is needed: the fee (genesis), the id (an excepted transaction), the recipient's key, the detail of the
 * type. Read from the end, so that the signed bytes stand in front as they are.
 */

import { addressOf } from '../../crypto/keys.ts';
import { idOf } from '../../crypto/hash.ts';
import { bytesOfHex, hexOf, u64be } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { Transaction, TransactionId } from '../types.ts';
import type { TransactionLayout } from './transaction-type.ts';

const HAS_SECOND_SIGNATURE = 1;
const HAS_FEE = 2;
const HAS_ID = 4;
const HAS_RECIPIENT_KEY = 8;
const HAS_DETAIL = 16;
const KNOWN_FLAGS = 31;
const SIGNATURE_BYTES = 64;

type Layouts = ReadonlyMap<number, TransactionLayout>;

/** @param bytes the bytes that the id covers */
export function encodeTransaction(transaction: Transaction, bytes: Buffer, layouts: Layouts): Buffer {
  const { signatures, signSignature, fee, payload, recipientPublicKey } = transaction;
  const layout = layouts.get(transaction.type);
  const parts: Buffer[] = signatures.length === 0 ? [] : [Buffer.from(signatures.join(''), 'hex')];
  let flags = signSignature === undefined ? 0 : HAS_SECOND_SIGNATURE;
  if (fee !== layout?.fee(payload)) {
    flags |= HAS_FEE;
    parts.push(u64be(fee));
  }
  // Only exceptions and genesis blocks of generation 2 have ids that are not computed.
  if (layout?.networkBound === false && transaction.id !== idOf(bytes)) {
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
  const record = Buffer.allocUnsafe(parts.reduce((length, part) => length + part.length, bytes.length + 2));
  let end = bytes.copy(record);
  for (const part of parts) end += part.copy(record, end);
  record[end] = signatures.length;
  record[end + 1] = flags;
  return record;
}

/**
 * @param knownId the id, where it need not be computed
 * @throws ProtocolError `TRANSACTION_BYTES_INVALID` for bytes that `encodeTransaction` cannot have made
 */
export function decodeTransaction(stored: Uint8Array, layouts: Layouts, knownId?: TransactionId): Transaction {
  const record = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const count = record.at(-2) ?? 0;
  const flags = record.at(-1) ?? 0;
  let end = record.length - 2;
  const takeIf = (flag: number, length: number): Buffer | undefined => {
    if ((flags & flag) === 0) return undefined;
    end -= length;
    if (end < 0) throw invalid(record);
    return record.subarray(end, end + length);
  };
  const detail = takeIf(HAS_DETAIL, takeIf(HAS_DETAIL, 2)?.readUInt16BE(0) ?? 0);
  const recipientKey = takeIf(HAS_RECIPIENT_KEY, 32);
  const id = takeIf(HAS_ID, 8);
  const fee = takeIf(HAS_FEE, 8);
  const membersAt = end - count * SIGNATURE_BYTES;
  const secondAt = membersAt - (flags & HAS_SECOND_SIGNATURE ? SIGNATURE_BYTES : 0);
  const signatureAt = secondAt - SIGNATURE_BYTES;
  const layout = layouts.get(record[0] ?? -1);
  if (signatureAt <= 0 || layout === undefined || (flags & ~KNOWN_FLAGS) !== 0) throw invalid(record);

  const basic = layout.decodeBasic(record.subarray(0, signatureAt), detail);
  const signatures: string[] = [];
  for (let at = membersAt; at < end; at += SIGNATURE_BYTES) {
    signatures.push(record.toString('hex', at, at + SIGNATURE_BYTES));
  }
  return {
    id: knownId ?? id?.readBigUInt64BE(0).toString() ?? idOf(record.subarray(0, membersAt)),
    type: basic.type,
    timestamp: basic.timestamp,
    senderPublicKey: basic.senderPublicKey,
    senderId: addressOf(basic.senderPublicKey),
    fee: fee === undefined ? layout.fee(basic.payload) : fee.readBigUInt64BE(0),
    payload: basic.payload,
    signature: record.toString('hex', signatureAt, secondAt),
    ...(secondAt === membersAt ? {} : { signSignature: record.toString('hex', secondAt, membersAt) }),
    signatures,
    ...(recipientKey === undefined ? {} : { recipientPublicKey: hexOf(recipientKey) }),
  };
}

function invalid(record: Buffer): ProtocolError {
  return new ProtocolError('TRANSACTION_BYTES_INVALID', { length: record.length, type: record[0] });
}
