/** Collections with a maximum: nothing that a peer can fill may grow without end. */

import { assert } from './errors.ts';

/**
 * Map of at most `entriesMax` entries that forgets those not used lately. Kept as two halves: what is used is in the young
 * one, and when that is full it becomes the old one, whose unused entries go. So an entry outlives at least `entriesMax / 2`
 * others, and a use costs one look-up, where a strict order would cost a removal and an insertion.
 */
export class LruMap<K, V> {
  readonly entriesMax: number;
  readonly #halfMax: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** @param entriesMax at least 2 */
  constructor(entriesMax: number) {
    assert(entriesMax >= 2, 'a map that forgets has room for two');
    this.entriesMax = entriesMax;
    this.#halfMax = Math.floor(entriesMax / 2);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  has(key: K): boolean {
    return this.#young.has(key) || this.#old.has(key);
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    if (this.#old.size > 0) this.#old.delete(key);
    if (this.#young.size >= this.#halfMax && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: K): boolean {
    const wasYoung = this.#young.delete(key);
    return this.#old.delete(key) || wasYoung;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** First in, first out, refusing more than `itemsMax`. */
export class BoundedQueue<T> {
  readonly itemsMax: number;
  #items: T[] = [];

  constructor(itemsMax: number) {
    this.itemsMax = itemsMax;
  }

  get size(): number {
    return this.#items.length;
  }

  /** False, and nothing queued, when full. */
  push(item: T): boolean {
    if (this.#items.length >= this.itemsMax) return false;
    this.#items.push(item);
    return true;
  }

  /** Removes and returns up to `count` of the oldest items. */
  take(count: number): T[] {
    return this.#items.splice(0, count);
  }

  /** Keeps only the items for which `keep` answers true. */
  filter(keep: (item: T) => boolean): void {
    this.#items = this.#items.filter(keep);
  }
}
