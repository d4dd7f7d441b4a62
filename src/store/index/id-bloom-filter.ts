/**
 * A Bloom filter with one hash over transaction ids. The filter recognises nearly all new ids as new, much faster than
 * the disk does, and nearly every transaction of an imported chain is new. Ids are parts of hashes, so their own bits
 * serve as the hash.
 */

/** Marks, 32 in each word. The marks take 4 MB; a chain of five million transactions sets a seventh of them. */
const WORDS = 2 ** 20;
/** Offset of the last half of the id in its key. */
const LOW_AT = 5;

export class IdBloomFilter {
  readonly #marks = new Uint32Array(WORDS);

  /**
   * @param key key of the id in its table, as for `mayHold`
   */
  add(key: Buffer): void {
    const low = key.readUInt32BE(LOW_AT);
    const word = wordOf(low);
    this.#marks[word] = (this.#marks[word] ?? 0) | (1 << low);
  }

  /** True for each id that was added; false for most other ids. */
  mayHold(key: Buffer): boolean {
    const low = key.readUInt32BE(LOW_AT);
    return ((this.#marks[wordOf(low)] ?? 0) & (1 << low)) !== 0;
  }
}

/** Index of the word; the last five bits, which a shift uses, select the bit in it. */
function wordOf(low: number): number {
  return (low >>> 5) & (WORDS - 1);
}
