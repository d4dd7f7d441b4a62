/**
 * Computes a checksum over the tables of consensus state: the sum of one hash for each entry. A write subtracts the
 * hash of the old entry and adds the hash of the new one. So the cost of a write does not depend on the size of the
 * state, and the order of writes does not matter. The sum is stored beside the state and written in the same
 * transaction. If the hashes of the entries do not add up to it, the state is damaged. The checksum finds accidental
 * damage. It cannot find forgery, because its hash is fast and not cryptographic.
 */

import { compareKeys } from '../index/key-block.ts';
import type { KeyValueEntry } from '../tables/key-value.ts';
import { EMPTY } from '../tables/ordered-bytes.ts';

/** Number of bytes of the checksum, which has two sums of 32 bits. */
export const CHECKSUM_BYTES = 8;

/** Sum of hashes as two halves. Each half of the sum is counted modulo 2^32. */
interface Sum {
  low: number;
  high: number;
}

/**
 * A walk over all entries of the state. Blocks may be applied during the walk. `sum` is the sum of the entries below
 * `next`.
 */
interface Walk {
  next: Uint8Array;
  readonly sum: Sum;
}

export class StateChecksum {
  #sum: Sum;
  #walk: Walk | undefined;

  /** @param saved result of an earlier `bytes()`; by default the sum over no entries */
  constructor(saved: Buffer = EMPTY) {
    // A damaged record may have any length, so its bytes are copied into a buffer of the right length.
    const bytes = Buffer.alloc(CHECKSUM_BYTES);
    saved.copy(bytes);
    this.#sum = { low: bytes.readUInt32BE(0), high: bytes.readUInt32BE(4) };
  }

  bytes(): Buffer {
    return bytesOf(this.#sum);
  }

  /** Updates the checksum for a write; an undefined value stands for a missing entry. */
  replace(key: Uint8Array, before: Uint8Array | undefined, after: Uint8Array | undefined): void {
    const walk = this.#walk !== undefined && compareKeys(key, this.#walk.next) < 0 ? this.#walk.sum : undefined;
    if (before !== undefined) {
      hashEntry(key, before);
      change(this.#sum, -1);
      if (walk !== undefined) change(walk, -1);
    }
    if (after === undefined) return;
    hashEntry(key, after);
    change(this.#sum, 1);
    if (walk !== undefined) change(walk, 1);
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
   * Continues the walk.
   *
   * @param entries all entries from `walkNext` to `next`
   * @param next the key at which the walk continues afterwards
   */
  walk(entries: Iterable<KeyValueEntry>, next: Uint8Array): void {
    const walk = this.#walk;
    if (walk === undefined) return;
    for (const { key, value } of entries) {
      hashEntry(key, value);
      change(walk.sum, 1);
    }
    walk.next = next;
  }

  /** Ends a walk over all entries. @returns true if the sum over the entries is equal to the checksum */
  endWalk(): boolean {
    const walk = this.#walk;
    this.#walk = undefined;
    return walk !== undefined && walk.sum.low === this.#sum.low && walk.sum.high === this.#sum.high;
  }

  /** Stores the present sum before a transaction. @returns a function that restores the sum if the transaction fails */
  mark(): () => void {
    const sum = { ...this.#sum };
    const walk = this.#walk && { next: this.#walk.next, sum: { ...this.#walk.sum } };
    return () => {
      this.#sum = sum;
      this.#walk = walk;
    };
  }
}

/** Returns the checksum of a single entry. */
export function checksumOfEntry(key: Uint8Array, value: Uint8Array): Buffer {
  hashEntry(key, value);
  return bytesOf({ low: hashLow, high: hashHigh });
}

function bytesOf({ low, high }: Sum): Buffer {
  const bytes = Buffer.allocUnsafe(CHECKSUM_BYTES);
  bytes.writeUInt32BE(low, 0);
  bytes.writeUInt32BE(high, 4);
  return bytes;
}

/** Result of `hashEntry`. Two variables avoid creating an object for each of some million entries. */
let hashLow = 0;
let hashHigh = 0;

function change(sum: Sum, sign: 1 | -1): void {
  sum.low = (sum.low + sign * hashLow) >>> 0;
  sum.high = (sum.high + sign * hashHigh) >>> 0;
}

/**
 * Computes a hash of 64 bits over key and value, with the multipliers and the mixing of MurmurHash3. Each step is a
 * bijection of a half of the hash. So two entries that differ in one word only never have the same hash.
 */
function hashEntry(key: Uint8Array, value: Uint8Array): void {
  hashLow = key.length;
  hashHigh = value.length;
  hashBytes(key);
  hashBytes(value);
  hashLow = (hashLow + hashHigh) | 0;
  hashHigh = (hashHigh + hashLow) | 0;
  hashLow = mixed(hashLow);
  hashHigh = mixed(hashHigh);
  hashLow = (hashLow + hashHigh) >>> 0;
  hashHigh = (hashHigh + hashLow) >>> 0;
}

function hashBytes(bytes: Uint8Array): void {
  let low = hashLow;
  let high = hashHigh;
  const { length } = bytes;
  const words = length - (length % 4);
  let at = 0;
  for (; at < words; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    low = Math.imul(low ^ word, 0xcc9e2d51);
    low = (((low << 15) | (low >>> 17)) + 0x561ccd1b) | 0;
    high = Math.imul(high ^ word, 0x1b873593);
    high = (((high << 13) | (high >>> 19)) + 0x0bcaa747) | 0;
  }
  let rest = 0;
  for (; at < length; at += 1) rest = (rest << 8) | bytes[at]!;
  hashLow = Math.imul(low ^ rest, 0xcc9e2d51);
  hashHigh = Math.imul(high ^ rest, 0x1b873593);
}

function mixed(half: number): number {
  let bits = half ^ (half >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
