/**
 * Writes the index keys of the transactions in a pending index batch (transactions whose index entries are not stored
 * yet) into one buffer, many keys at a time. The caller gets the keys with `take`. The next `write` reuses the buffer.
 */

import { NONE, type PendingIndexBatch } from './pending-index-batch.ts';
import { KeyBlock } from './key-block.ts';
import type { TransactionSort } from '../../ports/queries.ts';
import { TRANSACTION_ORDERS } from '../tables/layout.ts';
import { PLACE_BYTES, writePlace } from '../tables/ordered-bytes.ts';

const BYTES_AT_FIRST = 4096;
/**
 * When the keys in the buffer have at least this number of bytes, `write` stops, and the caller calls `take`. The keys
 * of one `take` form one `IndexChunk` (transaction-lists.ts). A chunk must stay small, because each of the several
 * thousand keys in a chunk can change a different leaf block.
 */
const BYTES_AT_ONCE = 1 << 16;
/**
 * Maximum number of bytes that follow the prefix in a key: the sort value (if the key has one) and the transaction
 * place.
 */
const TAIL_BYTES_MAX = 160;

export class ListEntryWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_AT_FIRST);
  #length = 0;
  #ends: number[] = [];

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /**
   * Writes the keys of the rows at the positions from `from` to `to - 1` into the buffer. The method stops earlier if
   * the buffer has at least `BYTES_AT_ONCE` bytes. The keys of earlier calls since the last `take` are part of this
   * number.
   *
   * @param prefix prefix of the keys. The prefix must be equal to or above every prefix that was written since the last
   *   `take`
   * @param rows row numbers in the batch, in the order of their keys. Each row of the batch is one transaction
   * @param sort sort order of the table or list for which the method writes keys. Each key has the sort value of its
   *   row before the transaction place. Undefined for a list in the order of the chain, because the keys of such a list
   *   have no sort value
   * @returns the position of the first row whose key was not written; `to` if all keys were written
   */
  write(
    batch: PendingIndexBatch,
    prefix: Uint8Array,
    sort: TransactionSort | undefined,
    rows: Uint32Array,
    from: number,
    to: number,
  ): number {
    const kind = TRANSACTION_ORDERS[sort ?? 'amount'].value;
    for (let position = from; position < to; position += 1) {
      if (this.#length >= BYTES_AT_ONCE) return position;
      const row = rows[position] ?? NONE;
      this.#reserve(prefix.length + TAIL_BYTES_MAX);
      const bytes = this.#bytes;
      let at = this.#length;
      // Prefixes are short, so a loop is faster than a call of a native function.
      for (let i = 0; i < prefix.length; i += 1, at += 1) bytes[at] = prefix[i] ?? 0;
      if (sort !== undefined) at = kind.write(bytes, batch.value(sort, row), at);
      writePlace(bytes, batch.height(row), batch.index(row), at);
      this.#length = at + PLACE_BYTES;
      this.#ends.push(this.#length);
    }
    return to;
  }

  /** Returns the keys that were written since the last `take`. The next `write` overwrites the memory of these keys. */
  take(): KeyBlock {
    const keys = KeyBlock.of(this.#bytes.subarray(0, this.#length), this.#ends);
    this.#length = 0;
    this.#ends = [];
    return keys;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(this.#bytes.length * 2 + bytes);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
