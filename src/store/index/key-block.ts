/**
 * Packs neighbouring keys into one value: the number of keys (u16), then the length of each key (u16), then the keys
 * themselves. Integers are little-endian. An index has many small keys. Writing hundreds of keys as one value is much
 * faster than inserting each key into the tree of the database.
 */

import { EMPTY } from '../tables/ordered-bytes.ts';

const COUNT_BYTES = 2;
const LENGTH_BYTES = 2;
/**
 * Number of unused bytes that `packed` accepts in a buffer. The keys of a block can be a part of a larger buffer. The
 * limit for the length of this buffer is the sum of `UNUSED_BYTES_MAX` and twice the packed length of the block. If the
 * buffer is longer than this limit, the block no longer uses the buffer after the call of `packed`. Instead, the block
 * uses the result of `packed`, which is a buffer of exactly the packed length. The larger buffer can then be freed. The
 * value of `UNUSED_BYTES_MAX` is the size of the pool from which Node.js 20 takes small buffers.
 */
const UNUSED_BYTES_MAX = 8192;

/** Sorted keys in one buffer, without duplicates. */
export class KeyBlock {
  #bytes: Buffer;
  /** For each key, the position at which the key ends and the next key begins. */
  #ends: number[];
  /**
   * False while it is possible that other objects use the bytes, for example if the bytes are part of a value read from
   * the store.
   */
  #isOwn = false;

  private constructor(bytes: Buffer, ends: number[]) {
    this.#bytes = bytes;
    this.#ends = ends;
  }

  static empty(): KeyBlock {
    return new KeyBlock(EMPTY, []);
  }

  /**
   * @param packed result of `packed`. If these bytes are damaged, the returned block has only the keys that can be
   *   read, and it is possible that these keys are not sorted
   */
  static read(packed: Buffer): KeyBlock {
    const count = packed.length < COUNT_BYTES ? 0 : packed.readUInt16LE(0);
    const from = COUNT_BYTES + count * LENGTH_BYTES;
    const ends: number[] = [];
    let end = 0;
    for (let at = COUNT_BYTES; at < from && at + LENGTH_BYTES <= packed.length; at += LENGTH_BYTES) {
      end += packed.readUInt16LE(at);
      if (from + end > packed.length) break;
      ends.push(end);
    }
    return new KeyBlock(packed.subarray(Math.min(from, packed.length)), ends);
  }

  /**
   * Creates a block of keys that follow one another in a buffer.
   *
   * @param bytes must not change while the block is in use
   * @param ends for each key, the position of the first byte after the key, ascending
   */
  static of(bytes: Buffer, ends: number[]): KeyBlock {
    return new KeyBlock(bytes, ends);
  }

  /** @param keys keys in ascending order */
  static from(keys: readonly Uint8Array[]): KeyBlock {
    let end = 0;
    return new KeyBlock(
      Buffer.concat(keys),
      keys.map(({ length }) => (end += length)),
    );
  }

  get size(): number {
    return this.#ends.length;
  }

  /** Length of the result of `packed` in bytes. */
  get bytes(): number {
    return COUNT_BYTES + this.size * LENGTH_BYTES + this.#end;
  }

  get #end(): number {
    return this.#ends.at(-1) ?? 0;
  }

  /** Returns a copy of the key at a position. The position of the first key is 0. */
  key(at: number): Buffer {
    const from = this.#from(at);
    const to = this.#ends[at] ?? from;
    const key = Buffer.allocUnsafe(to - from);
    this.#bytes.copy(key, 0, from, to);
    return key;
  }

  /**
   * Returns the number of keys below a bound.
   *
   * @param from number of keys that the caller knows to be below the bound
   */
  rank(bound: Uint8Array, from = 0): number {
    let low = from;
    let high = this.#ends.length;
    // Most keys are added in ascending order, so the last key is compared first.
    if (high > 0 && this.#compare(high - 1, bound) < 0) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(middle, bound) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(key: Uint8Array): boolean {
    return this.#holds(this.rank(key), key);
  }

  /** @returns false if the block already has the key */
  add(key: Uint8Array): boolean {
    const at = this.rank(key);
    if (this.#holds(at, key)) return false;
    const from = this.#from(at);
    const end = this.#end;
    this.#reserve(end + key.length);
    this.#bytes.copyWithin(from + key.length, from, end);
    this.#bytes.set(key, from);
    if (at === this.#ends.length) this.#ends.push(from);
    else this.#ends.splice(at, 0, from);
    this.#shift(at, key.length);
    return true;
  }

  /**
   * Adds the keys at the positions from `from` to `to - 1` of another block. Adding a few dozen keys in one call takes
   * only a little longer than adding one key.
   *
   * @returns number of keys that were new
   */
  addAll(other: KeyBlock, from: number, to: number): number {
    const sizeBefore = this.size;
    const bytes = Buffer.allocUnsafeSlow(this.#end + other.#from(to) - other.#from(from));
    const ends: number[] = [];
    let written = 0;
    const take = (block: KeyBlock, first: number, last: number): void => {
      const start = block.#from(first);
      const end = block.#from(last);
      block.#bytes.copy(bytes, written, start, end);
      for (let index = first; index < last; index += 1) ends.push((block.#ends[index] ?? 0) - start + written);
      written += end - start;
    };
    let at = 0;
    for (let next = from; next < to;) {
      const rank = this.#rankOf(other, next, at);
      if (rank > at) take(this, at, rank);
      at = rank;
      let last = at < sizeBefore ? next : to;
      let order = -1;
      while (last < to && (order = KeyBlock.#compareIn(other, last, this, at)) < 0) last += 1;
      if (last > next) take(other, next, last);
      next = last < to && order === 0 ? last + 1 : last;
    }
    if (at < sizeBefore) take(this, at, sizeBefore);
    this.#bytes = bytes;
    this.#ends = ends;
    this.#isOwn = true;
    return ends.length - sizeBefore;
  }

  /** @returns false if the block does not have the key */
  remove(key: Uint8Array): boolean {
    const at = this.rank(key);
    if (!this.#holds(at, key)) return false;
    const from = this.#from(at);
    this.#reserve(this.#end);
    this.#bytes.copyWithin(from, from + key.length, this.#end);
    this.#ends.splice(at, 1);
    this.#shift(at, -key.length);
    return true;
  }

  /** Returns true if the key at the position `at` is equal to `key`. */
  isAt(at: number, key: Uint8Array): boolean {
    return this.#holds(at, key);
  }

  /**
   * Splits the keys into several blocks of at most `bytesMax` bytes each. A block with a single key can be larger.
   *
   * @param more number of bytes that the caller stores in addition to each key; these bytes also count towards
   *   `bytesMax`
   */
  split(bytesMax: number, more = 0): KeyBlock[] {
    const blocks: KeyBlock[] = [];
    for (let at = 0; at < this.size;) {
      const from = this.#from(at);
      const ends: number[] = [];
      for (; at < this.size; at += 1) {
        const end = (this.#ends[at] ?? 0) - from;
        if (ends.length > 0 && COUNT_BYTES + (ends.length + 1) * (LENGTH_BYTES + more) + end > bytesMax) break;
        ends.push(end);
      }
      blocks.push(new KeyBlock(this.#bytes.subarray(from, from + (ends.at(-1) ?? 0)), ends));
    }
    return blocks;
  }

  packed(): Buffer {
    // While a block uses a part of a large buffer, the whole large buffer stays in memory. If the buffer of this block
    // is too large (see `UNUSED_BYTES_MAX`), the block therefore uses the bytes of the result from now on.
    const isShared = this.#bytes.buffer.byteLength > this.bytes * 2 + UNUSED_BYTES_MAX;
    const packed = isShared ? Buffer.allocUnsafeSlow(this.bytes) : Buffer.allocUnsafe(this.bytes);
    packed.writeUInt16LE(this.size, 0);
    let at = COUNT_BYTES;
    let from = 0;
    for (const end of this.#ends) {
      packed.writeUInt16LE(end - from, at);
      from = end;
      at += LENGTH_BYTES;
    }
    this.#bytes.copy(packed, at, 0, from);
    if (isShared) {
      this.#bytes = packed.subarray(at);
      this.#isOwn = false;
    }
    return packed;
  }

  /**
   * Returns the number of keys in this block that are below the key of `other` at position `index`.
   *
   * @param from number of keys at the start of this block that the caller knows to be below the key
   */
  #rankOf(other: KeyBlock, index: number, from: number): number {
    let low = from;
    let high = this.#ends.length;
    if (high > low && KeyBlock.#compareIn(this, high - 1, other, index) < 0) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (KeyBlock.#compareIn(this, middle, other, index) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #from(at: number): number {
    return at === 0 ? 0 : (this.#ends[at - 1] ?? 0);
  }

  #holds(at: number, key: Uint8Array): boolean {
    return at < this.#ends.length && this.#compare(at, key) === 0;
  }

  /**
   * Compares the key at position `at` with `other`; the result is negative if the key at `at` is smaller. Keys are
   * short, so this loop is faster than a call of a native function.
   */
  #compare(at: number, other: Uint8Array): number {
    const bytes = this.#bytes;
    const from = this.#from(at);
    const length = (this.#ends[at] ?? from) - from;
    const common = Math.min(length, other.length);
    for (let i = 0; i < common; i += 1) {
      const difference = (bytes[from + i] ?? 0) - (other[i] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - other.length;
  }

  /** Compares two keys; the result is negative if the key of `a` is smaller. */
  static #compareIn(a: KeyBlock, atA: number, b: KeyBlock, atB: number): number {
    const bytesA = a.#bytes;
    const bytesB = b.#bytes;
    const fromA = a.#from(atA);
    const fromB = b.#from(atB);
    const lengthA = (a.#ends[atA] ?? fromA) - fromA;
    const lengthB = (b.#ends[atB] ?? fromB) - fromB;
    const common = Math.min(lengthA, lengthB);
    for (let i = 0; i < common; i += 1) {
      const difference = (bytesA[fromA + i] ?? 0) - (bytesB[fromB + i] ?? 0);
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  #shift(from: number, by: number): void {
    for (let at = from; at < this.#ends.length; at += 1) this.#ends[at] = (this.#ends[at] ?? 0) + by;
  }

  /** Makes sure that the buffer has at least this number of bytes, and that no other object uses the buffer. */
  #reserve(bytes: number): void {
    if (this.#isOwn && bytes <= this.#bytes.length) return;
    // The new buffer gets only a little spare space, because thousands of changed blocks can be in memory before they
    // are written.
    const larger = Buffer.allocUnsafeSlow(bytes + Math.max(64, bytes >> 3));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
    this.#isOwn = true;
  }
}

/**
 * Compares two keys; the result is negative if the first key is smaller. Keys are short, so a loop is faster than a
 * call of a native function.
 */
export function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
