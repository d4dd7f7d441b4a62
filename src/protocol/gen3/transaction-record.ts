/**
 * Stored form of a transaction: the bytes that the id covers, then member signatures, the fee where it is not the type's
 * (genesis), their count and the flags. Read from the end, so that the signed bytes stand in front as they are.
 */

import { addressOf } from '../../crypto/keys.ts';
import { idOf } from '../../crypto/hash.ts';
import { hexOf, u64be } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import type { TransactionType } from '../tx/transaction-type.ts';
import type { Transaction } from '../types.ts';
import { transactionBytes } from './transaction-bytes.ts';

const HAS_SECOND_SIGNATURE = 1;
const HAS_FEE = 2;
const KNOWN_FLAGS = HAS_SECOND_SIGNATURE | HAS_FEE;
const SIGNATURE_BYTES = 64;

export function encodeTransaction(transaction: Transaction, types: ReadonlyMap<number, TransactionType>): Buffer {
  const { signatures, signSignature, fee } = transaction;
  const usual = types.get(transaction.type)?.fee(transaction.payload);
  const flags = (signSignature === undefined ? 0 : HAS_SECOND_SIGNATURE) | (fee === usual ? 0 : HAS_FEE);
  return Buffer.concat([
    transactionBytes(transaction),
    Buffer.from(signatures.join(''), 'hex'),
    ...(fee === usual ? [] : [u64be(fee)]),
    Buffer.from([signatures.length, flags]),
  ]);
}

/** @throws ProtocolError `TRANSACTION_BYTES_INVALID` for bytes that `encodeTransaction` cannot have made */
export function decodeTransaction(stored: Uint8Array, types: ReadonlyMap<number, TransactionType>): Transaction {
  const record = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const [count = 0, flags = 0] = record.subarray(-2);
  const feeAt = record.length - 2 - (flags & HAS_FEE ? 8 : 0);
  const membersAt = feeAt - count * SIGNATURE_BYTES;
  const secondAt = membersAt - (flags & HAS_SECOND_SIGNATURE ? SIGNATURE_BYTES : 0);
  const signatureAt = secondAt - SIGNATURE_BYTES;
  const type = types.get(record[0] ?? -1);
  if (signatureAt <= 0 || type === undefined || (flags & ~KNOWN_FLAGS) !== 0) {
    throw new ProtocolError('TRANSACTION_BYTES_INVALID', { length: record.length, type: record[0] });
  }
  const basic = type.decodeBasic(record.subarray(0, signatureAt));
  const signatures: string[] = [];
  for (let at = membersAt; at < feeAt; at += SIGNATURE_BYTES) signatures.push(hexOf(record.subarray(at, at + 64)));
  return {
    id: idOf(record.subarray(0, membersAt)),
    type: basic.type,
    timestamp: basic.timestamp,
    senderPublicKey: basic.senderPublicKey,
    senderId: addressOf(basic.senderPublicKey),
    fee: flags & HAS_FEE ? record.readBigUInt64BE(feeAt) : type.fee(basic.payload),
    payload: basic.payload,
    signature: hexOf(record.subarray(signatureAt, secondAt)),
    ...(secondAt === membersAt ? {} : { signSignature: hexOf(record.subarray(secondAt, membersAt)) }),
    signatures,
  };
}
