/**
 * Defines collections with a maximum size. The node keeps data from peers and clients in such collections. Peers and
 * clients could fill a collection without a maximum size until the memory is full.
 */

import { assert } from './errors.ts';

/**
 * Map of at most `entriesMax` entries. The map drops entries that were not used recently. A call of `get` or `set`
 * counts as a use of the entry. A call of `has` or `entries` does not count as a use. The map divides time into spans.
 * When `entriesMax / 2` entries have been used in a span, the next use of a different entry ends the span. At the end
 * of a span, the map drops each entry that was not used in that span. After its last use, an entry therefore survives
 * the use of at least `entriesMax / 2` other entries. Each use of an entry costs one lookup. A strict
 * least-recently-used order would cost a removal and an insertion for each use.
 */
export class LruMap<K, V> {
  readonly entriesMax: number;
  readonly #halfMax: number;
  readonly #entries = new Map<K, Entry<V>>();
  #span = 0;
  /** Number of different entries that were used in the current span of time (see the comment of `LruMap`). */
  #used = 0;

  /** @param entriesMax maximum number of entries, at least 2 */
  constructor(entriesMax: number) {
    assert(entriesMax >= 2, 'an LRU map has at least two entries');
    this.entriesMax = entriesMax;
    this.#halfMax = Math.floor(entriesMax / 2);
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Returns the value of a key, and counts the entry as used; undefined if the map does not have the key. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.span !== this.#span) this.#use(entry);
    return entry.value;
  }

  set(key: K, value: V): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      const added = { value, span: NEVER };
      this.#use(added);
      this.#entries.set(key, added);
      return;
    }
    entry.value = value;
    if (entry.span !== this.#span) this.#use(entry);
  }

  /** All keys with their values, in the order in which the keys were added. This method counts no entry as used. */
  *entries(): Iterable<readonly [K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }

  delete(key: K): boolean {
    if (this.#entries.get(key)?.span === this.#span) this.#used -= 1;
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#used = 0;
  }

  #use(entry: Entry<V>): void {
    entry.span = this.#span;
    if (this.#used >= this.#halfMax) {
      this.#endSpan();
      entry.span = this.#span;
    }
    this.#used += 1;
  }

  #endSpan(): void {
    for (const [key, { span }] of this.#entries) if (span !== this.#span) this.#entries.delete(key);
    this.#span += 1;
    this.#used = 0;
  }
}

interface Entry<V> {
  value: V;
  /** Number of the span of time in which the entry was last used. The comment of `LruMap` explains the spans. */
  span: number;
}

const NEVER = -1;

/** Queue (first in, first out) that refuses items beyond `itemsMax`. */
export class BoundedQueue<T> {
  readonly itemsMax: number;
  #items: T[] = [];

  constructor(itemsMax: number) {
    this.itemsMax = itemsMax;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Adds an item and returns true. If the queue is full, returns false without adding the item. */
  push(item: T): boolean {
    if (this.#items.length >= this.itemsMax) return false;
    this.#items.push(item);
    return true;
  }

  /**
   * Removes the `count` oldest items, and returns these items. If the queue has fewer items, removes and returns all
   * items.
   */
  take(count: number): T[] {
    return this.#items.splice(0, count);
  }

  /** Removes the items for which `keep` returns false. */
  filter(keep: (item: T) => boolean): void {
    this.#items = this.#items.filter(keep);
  }
}
