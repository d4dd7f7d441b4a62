/**
 * A Bloom filter with one hash over transaction ids. It says of nearly all new ids that they are new, in a fraction of the time
 * that the disk takes: nearly every transaction of a chain that is taken over has a new one. Ids are parts of hashes, so their
 * own bits serve as the hash.
 */

/** Marks in 32 bits each: 4 MB, of which a chain of five million transactions takes a seventh. */
const WORDS = 2 ** 20;
/** The last half of the id in its key. */
const LOW_AT = 5;

export class IdBloomFilter {
  readonly #marks = new Uint32Array(WORDS);

  /** @param key the key of the id in its table, as for `mayHold` */
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

/** Shifts take the last five bits alone, and these say the place in the word. */
function wordOf(low: number): number {
  return (low >>> 5) & (WORDS - 1);
}
