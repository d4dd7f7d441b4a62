/** Collections with a maximum: nothing that a peer can fill may grow without end. */

/** Map that forgets the least recently used entry beyond `entriesMax`. */
export class LruMap<K, V> {
  readonly entriesMax: number;
  readonly #entries = new Map<K, V>();

  constructor(entriesMax: number) {
    this.entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Oldest use first. */
  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
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
