/** Reads and writes stored transactions. The transactions of a block are stored together, in one or more values. */

import type { TransactionPlace } from '../../ports/store.ts';
import { packTransactions, unpackTransaction, unpackTransactions } from '../../protocol/block/packed-block.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Transaction } from '../../protocol/types.ts';
import { afterPrefix, type KeyRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import { TABLES } from './layout.ts';
import { HEIGHT_BYTES, isU16, isU32, PLACE_BYTES, placeAtEnd } from './ordered-bytes.ts';

/**
 * Maximum number of transactions in one stored value. All transactions of a usual block fit into one value, so the
 * store writes and reads these transactions together. A genesis block can have tens of thousands of transactions. The
 * store divides these transactions among many values, so that a read of one transaction does not read all transactions
 * of the block from the disk.
 */
export const TRANSACTIONS_PER_VALUE = 256;

/**
 * The place of a transaction consists of a block height and an index in the block. This constant is the number of bytes
 * of the index.
 */
const INDEX_BYTES = PLACE_BYTES - HEIGHT_BYTES;

export function putTransactions(
  keys: KeyValueWriter,
  codec: Codec,
  height: number,
  transactions: readonly Transaction[],
): void {
  for (const { index, part } of partsOf(transactions)) {
    keys.put(TABLES.transactions.key({ height, index }), packTransactions(part, codec));
  }
}

export function removeTransactions(keys: KeyValueWriter, height: number, transactions: readonly Transaction[]): void {
  for (const { index } of partsOf(transactions)) keys.remove(TABLES.transactions.key({ height, index }));
}

/** Reads all transactions of a block. */
export function transactionsAt(keys: KeyValueReader, codec: Codec, height: number): Transaction[] {
  const transactions: Transaction[] = [];
  for (const { value } of keys.entries(rangeOf(height, height))) {
    transactions.push(...unpackTransactions(value, codec));
  }
  return transactions;
}

/**
 * Returns the lowest height whose block has transactions, in the range of heights from `above + 1` to `last`. Returns
 * undefined if all blocks in this range are empty.
 */
export function heightWithTransactions(keys: KeyValueReader, above: number, last: number): number | undefined {
  const [first] = above < last ? keys.keys({ ...rangeOf(above + 1, last), limit: 1 }) : [];
  return first === undefined ? undefined : placeAtEnd(first).height;
}

function rangeOf(first: number, last: number): KeyRange {
  const end = TABLES.transactions.key({ height: last, index: 0 });
  return { gte: TABLES.transactions.key({ height: first, index: 0 }), lt: afterPrefix(end.subarray(0, -INDEX_BYTES)) };
}

export function transactionAt(
  keys: KeyValueReader,
  codec: Codec,
  { height, index }: TransactionPlace,
): Transaction | undefined {
  if (!isU32(height) || !isU16(index)) return undefined;
  const rest = index % TRANSACTIONS_PER_VALUE;
  return keys.withValue(TABLES.transactions.key({ height, index: index - rest }), (packed) =>
    unpackTransaction(packed, rest, codec),
  );
}

/**
 * Number of transactions in the chain up to and including the block at `height`; 0 if the chain has no block at this
 * height.
 */
export function transactionTotal(keys: KeyValueReader, height: number): number {
  const bytes = height < 1 ? undefined : keys.get(TABLES.transactionTotals.key(height));
  return Number(bytes?.readBigUInt64BE() ?? 0n);
}

function* partsOf(transactions: readonly Transaction[]): Iterable<{ index: number; part: readonly Transaction[] }> {
  for (let index = 0; index < transactions.length; index += TRANSACTIONS_PER_VALUE) {
    const isWhole = transactions.length <= TRANSACTIONS_PER_VALUE;
    yield { index, part: isWhole ? transactions : transactions.slice(index, index + TRANSACTIONS_PER_VALUE) };
  }
}
