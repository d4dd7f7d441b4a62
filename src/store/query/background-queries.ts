/**
 * Answers queries that no index can answer. A query for transactions, blocks or voters runs here only if it must read
 * more than `atOnceMax` of them. Only one query runs at a time. The query runs in chunks, over a snapshot of the store.
 * The node can apply blocks between two chunks, and other work waits for one chunk at most. The result of a query is a
 * list. The list stays in memory until the chain changes, or until newer lists need the memory of the list. If a later
 * query asks for another page of the same result, it reads the list in memory. Very long lists (see `ITEMS_KEPT_MAX`)
 * do not stay in memory.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { StoredChain } from '../chain/stored-chain.ts';

/** A function that lets other waiting work run. The promise resolves when the query can continue. */
export type Pause = () => Promise<void>;

/** Maximum number of queries that wait or run at the same time. One query can take several seconds. */
const WAITING_MAX = 16;
/** Maximum number of lists that stay in memory. */
const LISTS_KEPT_MAX = 16;
/**
 * Maximum number of items that all lists in memory have together. A list with more items does not stay in memory. An
 * item takes about ten bytes in a list of transactions, and more in a list of addresses.
 */
export const ITEMS_KEPT_MAX = 2_000_000;

export interface BackgroundQueryOptions {
  readonly pause: Pause;
  /**
   * Maximum number of transactions, blocks or voters that a query reads and sorts without a pause. A query that must
   * read and sort a larger number runs in the background. Reading and sorting the default number takes some
   * milliseconds.
   */
  readonly atOnceMax: number;
  /**
   * Maximum number of candidates (transactions that possibly match, `candidates.ts`) that a query for transactions
   * reads and then sorts. For more candidates, reading an index in the requested order is faster.
   */
  readonly sortedMax: number;
}

export const BACKGROUND_QUERY_DEFAULTS: BackgroundQueryOptions = {
  pause: () => Promise.resolve(),
  atOnceMax: 1_000,
  sortedMax: 20_000,
};

export class BackgroundQueries {
  readonly options: BackgroundQueryOptions;
  readonly #store: StoredChain;
  readonly #kept = new Map<string, readonly unknown[]>();
  #tipId: string | undefined;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: StoredChain, options: BackgroundQueryOptions) {
    this.#store = store;
    this.options = options;
  }

  /**
   * Reads a part of the list that is the result of a query. If the list is not in memory, this method runs the query
   * first.
   *
   * @param name the key of the list among the lists in memory
   * @param find makes the list. `find` awaits `pause` after each chunk of some milliseconds
   * @param read returns the wanted part of the list, with data from `store`. If the list was in memory, `store` is the
   *   chain store. Otherwise, `store` is the snapshot from which `find` has just made the list
   * @throws ProtocolError `QUERIES_BUSY` if the list is not in memory and `WAITING_MAX` queries already wait or run;
   *   `STORE_CLOSED` if the store is closed before the query ends. The method also throws the errors of `find` and
   *   `read`
   */
  async read<T, R>(
    name: string,
    find: (snapshot: StoredChain, pause: Pause) => Promise<readonly T[]>,
    read: (list: readonly T[], store: StoredChain) => R,
  ): Promise<R> {
    const known = this.#lookUp(name);
    if (known !== undefined) return read(known as readonly T[], this.#store);
    if (this.#waiting >= WAITING_MAX) {
      const message = 'Too many background queries are waiting. Narrow the query, or repeat it later.';
      throw new ProtocolError('QUERIES_BUSY', { waiting: this.#waiting }, message);
    }
    this.#waiting += 1;
    const result = this.#last.then(async () => {
      const found = this.#lookUp(name);
      return found === undefined ? this.#find(name, find, read) : read(found as readonly T[], this.#store);
    });
    this.#last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #find<T, R>(
    name: string,
    find: (snapshot: StoredChain, pause: Pause) => Promise<readonly T[]>,
    read: (list: readonly T[], store: StoredChain) => R,
  ): Promise<R> {
    const snapshot = this.#store.snapshot();
    try {
      const found = await find(snapshot, this.options.pause);
      if (snapshot.tip()?.id === this.#store.tip()?.id) this.#keep(name, found);
      return read(found, snapshot);
    } finally {
      await snapshot.close();
    }
  }

  #lookUp(name: string): readonly unknown[] | undefined {
    const tipId = this.#store.tip()?.id;
    if (tipId !== this.#tipId) this.#kept.clear();
    this.#tipId = tipId;
    return this.#kept.get(name);
  }

  #keep(name: string, found: readonly unknown[]): void {
    if (this.#lookUp(name) !== undefined || found.length > ITEMS_KEPT_MAX) return;
    this.#kept.set(name, found);
    let items = [...this.#kept.values()].reduce((sum, { length }) => sum + length, 0);
    for (const [oldest, { length }] of this.#kept) {
      if (this.#kept.size <= LISTS_KEPT_MAX && items <= ITEMS_KEPT_MAX) break;
      this.#kept.delete(oldest);
      items -= length;
    }
  }
}

/**
 * Number of items, such as transactions, that a query reads in one chunk. Reading one chunk takes some milliseconds.
 */
export const CHUNK_ITEMS = 200;

/** Sorts the items in chunks and then merges the sorted chunks. Other work can run between two chunks. */
export async function sortInChunks<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  pause: Pause,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += SORTED_AT_ONCE) {
    runs.push(items.slice(at, at + SORTED_AT_ONCE).sort(compare));
    await pause();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, pause));
    runs = merged;
  }
  return runs[0] ?? [];
}

const SORTED_AT_ONCE = 2_000;
const MERGED_AT_ONCE = 20_000;

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  pause: Pause,
): Promise<T[]> {
  const merged: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const [a, b] = [left[l], right[r]];
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      merged.push(a as T);
      l += 1;
    } else {
      merged.push(b);
      r += 1;
    }
    if (merged.length % MERGED_AT_ONCE === 0) await pause();
  }
  return merged;
}
