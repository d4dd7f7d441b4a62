/**
 * A Bloom filter for transaction ids, with one hash per id. For most new ids, the filter shows without a read from the
 * disk that the chain does not contain the id. During an import, nearly every id is new. An id is a part of a hash, so
 * the filter uses bits of the id itself as the hash.
 */

/**
 * Number of words in the filter. Each word has 32 bits, so all words together take 4 MB. The ids of five million
 * transactions set a seventh of the bits.
 */
const WORDS = 2 ** 20;
/**
 * Offset of the second half of an id in its key, in bytes. The key is one byte for the table of ids, followed by the 8
 * bytes of the id.
 */
const LOW_AT = 5;

export class IdBloomFilter {
  readonly #marks = new Uint32Array(WORDS);

  /** @param key key of the id in the table of ids; `mayHold` takes the same kind of key */
  add(key: Buffer): void {
    const low = key.readUInt32BE(LOW_AT);
    const word = wordOf(low);
    this.#marks[word] = (this.#marks[word] ?? 0) | (1 << low);
  }

  /** Returns true for each id that was added, and false for most other ids. */
  mayHold(key: Buffer): boolean {
    const low = key.readUInt32BE(LOW_AT);
    return ((this.#marks[wordOf(low)] ?? 0) & (1 << low)) !== 0;
  }
}

/** Returns the index of the word with the bit of an id. The last five bits of `low` select the bit in the word. */
function wordOf(low: number): number {
  return (low >>> 5) & (WORDS - 1);
}
