/**
 * Stores entries in memory, in the order of their keys, for tests, in-memory devnets and simulations.
 * `upgraded-view.ts` also uses this class, to keep the changes of an upgrade in memory and not on the disk. The keys
 * are in sorted chunks of bounded size. During a database transaction, a log keeps the earlier values of the entries
 * that the transaction writes. If the transaction fails, the store restores the earlier values from the log.
 */

import { bufferOf } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import { readsOf, type KeyRange, type KeyValue, type KeyValueEntry, type KeyValueWriter } from '../tables/key-value.ts';

/**
 * Maximum number of keys in a chunk. A larger limit would make inserting a key slower. A smaller limit would make
 * counting keys slower.
 */
const CHUNK_KEYS_MAX = 512;

/** A key as Latin-1 text. Each character is one byte of the key, so the texts sort like the keys. */
type KeyText = string;

export class MemoryKeyValue implements KeyValue {
  readonly #values = new Map<KeyText, Buffer>();
  /**
   * Chunks in the order of their keys. The keys in each chunk are sorted, too. A chunk is empty only if there is no
   * other chunk.
   */
  readonly #chunks: KeyText[][] = [[]];
  /**
   * One item for each write of the running transaction, in the order of the writes: the key, and the value of the key
   * before the write. Undefined while no transaction runs.
   */
  #log: { readonly key: KeyText; readonly before: Buffer | undefined }[] | undefined;

  get(key: Uint8Array): Buffer | undefined {
    return this.#values.get(textOf(key));
  }

  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : work(value);
  }

  *entries(range: KeyRange): Iterable<KeyValueEntry> {
    for (const key of this.#texts(range)) {
      const value = this.#values.get(key);
      if (value !== undefined) yield { key: Buffer.from(key, 'latin1'), value };
    }
  }

  *keys(range: KeyRange): Iterable<Buffer> {
    for (const key of this.#texts(range)) yield Buffer.from(key, 'latin1');
  }

  count(range: KeyRange): number {
    return Math.max(0, this.#rank(textOf(range.lt)) - this.#rank(textOf(range.gte)));
  }

  transact<T>(work: (writer: KeyValueWriter) => T): T {
    assert(this.#log === undefined, 'transactions are not nested');
    const log: { key: KeyText; before: Buffer | undefined }[] = [];
    this.#log = log;
    try {
      return work({
        ...readsOf(this),
        put: (key, value) => this.#write(textOf(key), bufferOf(value)),
        remove: (key) => this.#write(textOf(key), undefined),
      });
    } catch (error) {
      this.#log = undefined;
      for (const { key, before } of log.reverse()) this.#write(key, before);
      throw error;
    } finally {
      this.#log = undefined;
    }
  }

  snapshot(): KeyValue {
    const copy = new MemoryKeyValue();
    for (const [key, value] of this.#values) copy.#values.set(key, value);
    copy.#chunks.splice(0, 1, ...this.#chunks.map((chunk) => [...chunk]));
    return copy;
  }

  async close(): Promise<void> {
    // The method has nothing to close. The memory is freed together with the object.
  }

  #write(key: KeyText, value: Buffer | undefined): void {
    const before = this.#values.get(key);
    this.#log?.push({ key, before });
    if (value === undefined) {
      if (before === undefined) return;
      this.#values.delete(key);
      this.#removeKey(key);
    } else {
      this.#values.set(key, value);
      if (before === undefined) this.#insertKey(key);
    }
  }

  #insertKey(key: KeyText): void {
    const at = this.#pieceOf(key);
    const chunk = this.#chunk(at);
    chunk.splice(lowerBound(chunk, key), 0, key);
    if (chunk.length > CHUNK_KEYS_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_KEYS_MAX >> 1));
  }

  #removeKey(key: KeyText): void {
    const at = this.#pieceOf(key);
    const chunk = this.#chunk(at);
    chunk.splice(lowerBound(chunk, key), 1);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(at, 1);
  }

  /**
   * Returns the index of the last chunk whose first key is equal to or below the given key; 0 if no chunk has such a
   * first key.
   */
  #pieceOf(key: KeyText): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#chunk(middle)[0];
      if (first !== undefined && first <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #chunk(at: number): KeyText[] {
    const chunk = this.#chunks[at];
    assert(chunk !== undefined, 'the chunk exists');
    return chunk;
  }

  /** Counts the keys below the given key. */
  #rank(key: KeyText): number {
    const at = this.#pieceOf(key);
    let below = lowerBound(this.#chunk(at), key);
    for (let i = 0; i < at; i += 1) below += this.#chunk(i).length;
    return below;
  }

  *#texts(range: KeyRange): Iterable<KeyText> {
    const gte = textOf(range.gte);
    const lt = textOf(range.lt);
    let skip = range.offset ?? 0;
    let left = range.limit ?? Infinity;
    const step = range.reverse === true ? -1 : 1;
    let at = this.#pieceOf(step === 1 ? gte : lt);
    let index = lowerBound(this.#chunk(at), step === 1 ? gte : lt) - (step === 1 ? 0 : 1);
    while (left > 0) {
      const chunk = this.#chunks[at];
      if (chunk === undefined) return;
      const key = chunk[index];
      if (key === undefined) {
        at += step;
        index = step === 1 ? 0 : (this.#chunks[at]?.length ?? 0) - 1;
        continue;
      }
      if (step === 1 ? key >= lt : key < gte) return;
      index += step;
      if (skip > 0) skip -= 1;
      else {
        left -= 1;
        yield key;
      }
    }
  }
}

/**
 * Returns the index of the first key in the chunk that is equal to or above `key`. If all keys in the chunk are below
 * `key`, the result is the length of the chunk.
 */
function lowerBound(chunk: readonly KeyText[], key: KeyText): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function textOf(key: Uint8Array): KeyText {
  return bufferOf(key).toString('latin1');
}
