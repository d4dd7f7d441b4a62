/**
 * Packs blocks into bytes for another thread, and lists of transactions into bytes for the disk. The packed bytes of a
 * block or of a list consist of parts. The length of a part comes before the part, as a u32 in little-endian form.
 */

import { addressAt } from '../../crypto/address-texts.ts';
import { readU64BE, writeU64BE } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import type { Codec } from '../rules.ts';
import type { Block, Transaction } from '../types.ts';

const LENGTH_BYTES = 4;
const NUMBER_BYTES = 8;
/** Number of bytes that a transaction's id and sender address take together in the second part of a packed block. */
const FACTS_BYTES = 2 * NUMBER_BYTES;

/**
 * Packs a block into three parts: the header, the ids and addresses, and the transactions. The second part contains the
 * id of the block, and the id and the sender's address of each transaction. The second part saves time: without it,
 * unpacking a block would have to compute the ids and addresses as hashes.
 */
export function packBlock(block: Block, codec: Codec): Buffer {
  const { transactions } = block;
  const facts = Buffer.allocUnsafe(NUMBER_BYTES + transactions.length * FACTS_BYTES);
  writeU64BE(facts, BigInt(block.id), 0);
  let at = NUMBER_BYTES;
  for (const { id, senderId } of transactions) {
    writeU64BE(facts, BigInt(id), at);
    writeU64BE(facts, BigInt(senderId.slice(0, -1)), at + NUMBER_BYTES);
    at += FACTS_BYTES;
  }
  return packParts([codec.encodeHeader(block), facts, packTransactions(transactions, codec)]);
}

/**
 * Unpacks a block. The transactions stay packed until a caller reads the member `transactions`. Thousands of blocks can
 * wait in memory. If the transactions of all these blocks were objects, garbage collection would examine these objects
 * again and again.
 *
 * @param packed result of `packBlock` in this process; the bytes are not checked
 */
export function unpackBlock(packed: Buffer, codec: Codec): Block {
  const [header, facts, packedTransactions] = unpackParts(packed);
  assert(
    header !== undefined && facts !== undefined && packedTransactions !== undefined,
    'a packed block has three parts',
  );
  return {
    ...codec.decodeHeader(header, readU64BE(facts, 0).toString()),
    get transactions() {
      if (latest?.packed !== packedTransactions) {
        latest = { packed: packedTransactions, transactions: readTransactions(packedTransactions, facts, codec) };
      }
      return latest.transactions;
    },
  };
}

/**
 * Caches the transactions that were unpacked last. The code that handles a block reads the transactions of the block
 * several times.
 */
let latest: { readonly packed: Buffer; readonly transactions: readonly Transaction[] } | undefined;

function readTransactions(packed: Buffer, facts: Buffer, codec: Codec): Transaction[] {
  const transactions = unpackParts(packed).map((bytes, index) => {
    const at = NUMBER_BYTES + index * FACTS_BYTES;
    const id = readU64BE(facts, at).toString();
    return codec.decodeTransaction(bytes, id, addressAt(facts, at + NUMBER_BYTES));
  });
  packedForms.set(transactions, packed);
  return transactions;
}

// Caches the packed bytes of unpacked transactions, so that the store can write these bytes without packing the
// transactions again.
const packedForms = new WeakMap<readonly Transaction[], Buffer>();

/** Packs transactions in their order. The length of each transaction comes before the transaction. */
export function packTransactions(transactions: readonly Transaction[], codec: Codec): Buffer {
  return (
    packedForms.get(transactions) ?? packParts(transactions.map((transaction) => codec.encodeTransaction(transaction)))
  );
}

export function unpackTransactions(packed: Buffer, codec: Codec): Transaction[] {
  return unpackParts(packed).map((bytes) => codec.decodeTransaction(bytes));
}

/**
 * Unpacks the transaction at an index, counted from 0; undefined if `packed` has no transaction at this index. The
 * result does not share memory with the packed bytes.
 */
export function unpackTransaction(packed: Buffer, index: number, codec: Codec): Transaction | undefined {
  let left = index;
  for (let at = 0; at < packed.length;) {
    const from = at + LENGTH_BYTES;
    at = from + packed.readUInt32LE(at);
    if (left === 0) return codec.decodeTransaction(Buffer.from(packed.subarray(from, at)));
    left -= 1;
  }
  return undefined;
}

/** Joins parts into one buffer. The length of each part comes before the part. */
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

/** Splits a packed buffer into its parts. The parts are views of the buffer. */
export function unpackParts(packed: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < packed.length;) {
    const end = at + LENGTH_BYTES + packed.readUInt32LE(at);
    parts.push(packed.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return parts;
}
