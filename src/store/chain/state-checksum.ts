/**
 * A checksum over the tables of consensus state: the sum of one hash for each entry. A write changes it by the hash of the
 * entry that it removes and of the one that it adds, so that it costs the same however large the state is, and the order of
 * writes does not matter. The sum stands beside the state and is written with it: entries that do not add up to it are not
 * what this program wrote. It finds damage, not forgery: the hash is a fast one, not a cryptographic one.
 */

import { compareKeys } from '../index/key-block.ts';
import type { KeyValueEntry } from '../tables/key-value.ts';
import { EMPTY } from '../tables/ordered-bytes.ts';

/** Two sums of 32 bits. */
export const CHECKSUM_BYTES = 8;

/** A sum of hashes modulo 2^32, in both halves. */
interface Sum {
  low: number;
  high: number;
}

/** A walk over all entries while blocks are applied: what stands below `next` is added up in `sum`. */
interface Walk {
  next: Uint8Array;
  readonly sum: Sum;
}

export class StateChecksum {
  #sum: Sum;
  #walk: Walk | undefined;

  /** @param saved `bytes()` of before; that of no entries unless given */
  constructor(saved: Buffer = EMPTY) {
    // Damaged bytes may be of any number.
    const bytes = Buffer.alloc(CHECKSUM_BYTES);
    saved.copy(bytes);
    this.#sum = { low: bytes.readUInt32BE(0), high: bytes.readUInt32BE(4) };
  }

  bytes(): Buffer {
    return bytesOf(this.#sum);
  }

  /** Counts a write: a value of undefined is no entry. */
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

  /** Begins a walk over all entries, and leaves the one before. */
  beginWalk(): void {
    this.#walk = { next: EMPTY, sum: { low: 0, high: 0 } };
  }

  /** Key that the walk goes on from; undefined without one. */
  get walkNext(): Uint8Array | undefined {
    return this.#walk?.next;
  }

  /**
   * Goes on.
   *
   * @param entries all from `walkNext` to `next`
   * @param next key that the walk goes on from afterwards
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

  /** Ends a walk over all entries. @returns whether they add up to the checksum */
  endWalk(): boolean {
    const walk = this.#walk;
    this.#walk = undefined;
    return walk !== undefined && walk.sum.low === this.#sum.low && walk.sum.high === this.#sum.high;
  }

  /** Marks the sum that a failed transaction returns to. @returns undoes all writes that were counted since */
  mark(): () => void {
    const sum = { ...this.#sum };
    const walk = this.#walk && { next: this.#walk.next, sum: { ...this.#walk.sum } };
    return () => {
      this.#sum = sum;
      this.#walk = walk;
    };
  }
}

/** Checksum of one entry by itself. */
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

/** Result of `hashEntry`: two numbers are no object for each of some million entries. */
let hashLow = 0;
let hashHigh = 0;

function change(sum: Sum, sign: 1 | -1): void {
  sum.low = (sum.low + sign * hashLow) >>> 0;
  sum.high = (sum.high + sign * hashHigh) >>> 0;
}

/**
 * 64 bits over key and value, with the multipliers and the mixing of MurmurHash3. Each step is a bijection of the half, so
 * that entries that differ in one word alone never have one hash.
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
