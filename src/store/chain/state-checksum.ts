/**
 * Computes a checksum over the tables of consensus state. The checksum is the sum of the hashes of all entries. A write
 * subtracts the hash of the old entry from the sum, and adds the hash of the new entry. The cost of a write therefore
 * does not depend on the size of the state, and the order of writes does not matter. Each database transaction that
 * changes the state also stores the new sum. If the hashes of the entries do not add up to the stored sum, the state is
 * damaged. The checksum finds accidental damage, but not forgery, because the hash is fast and not cryptographic.
 */

import { compareKeys } from '../index/key-block.ts';
import type { KeyValueEntry } from '../tables/key-value.ts';
import { CHECKSUM_BYTES, changeSums, checksumBytes, type ChecksumSum } from '../tables/entry-checksum.ts';
import { EMPTY } from '../tables/ordered-bytes.ts';

/**
 * A walk over all entries of the state. `sum` is the sum of the hashes of the entries below `next`. The node can apply
 * blocks during the walk: `replace` also updates `sum` if the changed key is below `next`.
 */
interface Walk {
  next: Uint8Array;
  readonly sum: ChecksumSum;
}

export class StateChecksum {
  #sum: ChecksumSum;
  #walk: Walk | undefined;

  /** @param saved result of an earlier call of `bytes`; by default, the checksum of an empty state */
  constructor(saved: Buffer = EMPTY) {
    // A damaged `saved` can have any length. The code therefore copies the bytes into a buffer of the right length.
    const bytes = Buffer.alloc(CHECKSUM_BYTES);
    saved.copy(bytes);
    this.#sum = { low: bytes.readUInt32BE(0), high: bytes.readUInt32BE(4) };
  }

  bytes(): Buffer {
    return checksumBytes(this.#sum);
  }

  /**
   * Updates the checksum for a write.
   *
   * @param before the old value; undefined for a new entry
   * @param after the new value; undefined for a removed entry
   */
  replace(key: Uint8Array, before: Uint8Array | undefined, after: Uint8Array | undefined): void {
    const walk = this.#walk !== undefined && compareKeys(key, this.#walk.next) < 0 ? this.#walk.sum : undefined;
    if (before !== undefined) changeSums(key, before, -1, this.#sum, walk);
    if (after !== undefined) changeSums(key, after, 1, this.#sum, walk);
  }

  /** Begins a walk over all entries, and cancels an earlier walk. */
  beginWalk(): void {
    this.#walk = { next: EMPTY, sum: { low: 0, high: 0 } };
  }

  /** The key at which the walk continues; undefined if no walk is running. */
  get walkNext(): Uint8Array | undefined {
    return this.#walk?.next;
  }

  /**
   * Adds the hashes of the next entries to the sum of the walk. Does nothing if no walk is running.
   *
   * @param entries all entries from `walkNext` (inclusive) to `next` (exclusive)
   * @param next the key at which the next call of this method continues
   */
  walk(entries: Iterable<KeyValueEntry>, next: Uint8Array): void {
    const walk = this.#walk;
    if (walk === undefined) return;
    for (const { key, value } of entries) changeSums(key, value, 1, walk.sum);
    walk.next = next;
  }

  /**
   * Ends the running walk. Returns true if the sum of the walk is equal to the checksum. Returns false if the two sums
   * differ, or if no walk is running.
   */
  endWalk(): boolean {
    const walk = this.#walk;
    this.#walk = undefined;
    return walk !== undefined && walk.sum.low === this.#sum.low && walk.sum.high === this.#sum.high;
  }

  /**
   * Copies the current sum and the running walk before a database transaction.
   *
   * @returns a function that restores the sum and the walk if the transaction fails
   */
  mark(): () => void {
    const sum = { ...this.#sum };
    const walk = this.#walk && { next: this.#walk.next, sum: { ...this.#walk.sum } };
    return () => {
      this.#sum = sum;
      this.#walk = walk;
    };
  }
}
