/**
 * Writes the index keys of the pending batch into one buffer, many keys at a time. After `take`, the next keys reuse
 * this buffer.
 */

import { NONE, type PendingIndexBatch } from './pending-index-batch.ts';
import { KeyBlock } from './key-block.ts';
import type { TransactionSort } from '../../ports/queries.ts';
import { TRANSACTION_ORDERS } from '../tables/layout.ts';
import { PLACE_BYTES, writePlace } from '../tables/ordered-bytes.ts';

const BYTES_AT_FIRST = 4096;
/**
 * When the buffer has at least this number of bytes of keys, `write` stops, and the caller calls `take`. The buffer
 * then has several thousand keys, and each of these keys may belong to a different leaf block.
 */
const BYTES_AT_ONCE = 1 << 16;
/** Maximum number of bytes in a key after its prefix. These bytes are the sort value, if any, and the place. */
const TAIL_BYTES_MAX = 160;

export class ListEntryWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_AT_FIRST);
  #length = 0;
  #ends: number[] = [];

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /**
   * Writes the keys of the rows at the positions from `from` to `to - 1` into the buffer. The method stops earlier when
   * the buffer has `BYTES_AT_ONCE` bytes, including keys of earlier calls since the last `take`.
   *
   * @param prefix equal to or above every prefix that was written since the last `take`
   * @param rows rows in the order of their keys
   * @param sort the order whose value precedes the place in each key; undefined for the list in the order of the chain
   * @returns the position of the first row whose key was not written
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

  /** Returns the keys that were written. The next `write` reuses their memory. */
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
