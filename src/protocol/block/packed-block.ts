/**
 * Blocks as bytes, to hand them to another thread or to the disk: what the store keeps of their parts, one behind the other.
 * Lengths are u32, little-endian.
 */

import { assert } from '../../primitives/errors.ts';
import type { Codec } from '../rules.ts';
import type { Block, Transaction } from '../types.ts';

const LENGTH_BYTES = 4;
const ID_BYTES = 8;

/** Header, ids of the transactions and the transactions, each behind its length. Ids go along as they cost a hash each. */
export function packBlock({ transactions, ...header }: Block, codec: Codec): Buffer {
  const ids = Buffer.allocUnsafe(transactions.length * ID_BYTES);
  for (const [index, { id }] of transactions.entries()) ids.writeBigUInt64LE(BigInt(id), index * ID_BYTES);
  return packParts([codec.encodeHeader(header), ids, packTransactions(transactions, codec)]);
}

/** @param packed what `packBlock` made in this process, so that nothing of it is in doubt */
export function unpackBlock(packed: Buffer, codec: Codec): Block {
  const [header, ids, packedTransactions] = unpackParts(packed);
  assert(
    header !== undefined && ids !== undefined && packedTransactions !== undefined,
    'a packed block has three parts',
  );
  const transactions = unpackParts(packedTransactions).map((bytes, index) =>
    codec.decodeTransaction(bytes, ids.readBigUInt64LE(index * ID_BYTES).toString()),
  );
  packedForms.set(transactions, packedTransactions);
  return { ...codec.decodeHeader(header), transactions };
}

// What was unpacked on its way to the store is stored as it came.
const packedForms = new WeakMap<readonly Transaction[], Buffer>();

/** The transactions of a block, each behind its length. */
export function packTransactions(transactions: readonly Transaction[], codec: Codec): Buffer {
  return (
    packedForms.get(transactions) ?? packParts(transactions.map((transaction) => codec.encodeTransaction(transaction)))
  );
}

export function unpackTransactions(packed: Buffer, codec: Codec): Transaction[] {
  return unpackParts(packed).map((bytes) => codec.decodeTransaction(bytes));
}

/** One of the transactions, undefined when there are not so many. */
export function unpackTransaction(packed: Buffer, index: number, codec: Codec): Transaction | undefined {
  let left = index;
  for (let at = 0; at < packed.length;) {
    const from = at + LENGTH_BYTES;
    at = from + packed.readUInt32LE(at);
    if (left === 0) return codec.decodeTransaction(packed.subarray(from, at));
    left -= 1;
  }
  return undefined;
}

/** Pieces of bytes as one, each behind its length. */
export function packParts(parts: readonly Uint8Array[]): Buffer<ArrayBuffer> {
  const packed = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + LENGTH_BYTES + part.length, 0));
  let at = 0;
  for (const part of parts) {
    packed.writeUInt32LE(part.length, at);
    packed.set(part, at + LENGTH_BYTES);
    at += LENGTH_BYTES + part.length;
  }
  return packed;
}

/** The pieces again, as views. */
export function unpackParts(packed: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < packed.length;) {
    const end = at + LENGTH_BYTES + packed.readUInt32LE(at);
    parts.push(packed.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return parts;
}
