/**
 * Opens the chain store of a folder for reading only, in a process that is not the node itself. All reads of a snapshot
 * use one read transaction of the database, so all these reads see the same commit of the node. The process calls
 * `move` to get a newer snapshot.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { openLmdbReader, type LmdbReader } from '../disk/lmdb.ts';
import type { StoredChain } from './stored-chain.ts';
import { openedStore, readChainStore, type ChainStoreOptions, type MemoryChainStoreOptions } from './open.ts';

/**
 * Longest time for which an old snapshot stays open after the reader has moved to a newer snapshot. In this time, the
 * queries that began in the old snapshot can end. After this time, these queries fail, and the database can reuse the
 * pages of the old snapshot.
 */
const SNAPSHOT_MS_MAX = 30_000;

/** A read-only snapshot of the chain at one moment. */
export interface ReaderSnapshot {
  readonly store: StoredChain;
  /**
   * Runs a query and keeps this snapshot open until the query ends. After the reader has moved to a newer snapshot,
   * this snapshot stays open for at most `SNAPSHOT_MS_MAX`.
   */
  hold<T>(query: () => Promise<T>): Promise<T>;
}

export class ChainReader {
  readonly #options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>;
  readonly #clock: Clock;
  readonly #disk: LmdbReader;
  #current: HeldSnapshot;

  /**
   * @throws ProtocolError in the same cases as `openLmdbReader` and `readChainStore`. In addition, the constructor
   *   throws `STORE_BEHIND` if the indexes of the store lag behind the chain, because the results of queries would be
   *   incomplete
   */
  constructor(options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    // The reader does not check pages. The node has checked the pages of the state before a reader opens the store.
    // While the node runs, the node checks all pages. For a long chain, a second check of all pages by the reader would
    // take longer than the start of a node.
    this.#disk = openLmdbReader(options.directory, clock, true);
    try {
      const store = readChainStore(this.#disk.snapshot(), options);
      if (store.indexLag > 0)
        throw new ProtocolError('STORE_BEHIND', { lag: store.indexLag }, 'The indexes lag behind the chain.');
      this.#current = new HeldSnapshot(store, clock);
    } catch (error) {
      void this.#disk.close();
      throw error;
    }
  }

  get current(): ReaderSnapshot {
    return this.#current;
  }

  /**
   * Moves this reader to a snapshot of the last commit of the node. The reader moves only if two conditions hold: the
   * indexes of the snapshot are complete, and `isWanted` returns true for the snapshot. While queries of an old
   * snapshot run, the old snapshot stays open, and the database cannot reuse the pages of the old snapshot. If
   * untrusted clients can trigger calls of `move`, the caller must therefore use `isWanted` to limit the number of
   * moves.
   *
   * @param isWanted returns true if the reader should move to the new snapshot. The default always returns true
   * @returns true if this reader moved
   */
  move(isWanted: (store: StoredChain) => boolean = () => true): boolean {
    const before = this.#current;
    const store = openedStore(this.#disk.snapshot(), this.#options, this.#options.directory);
    let isTaken = false;
    try {
      isTaken = store.indexLag === 0 && isWanted(store);
    } finally {
      // If `isWanted` returns false or throws, the reader closes the new snapshot. If the new snapshot stayed open, the
      // database could not reuse the pages of this snapshot.
      if (!isTaken) void store.close();
    }
    if (!isTaken) return false;
    this.#current = new HeldSnapshot(store, this.#clock);
    before.retire();
    return true;
  }

  /**
   * Frees the LMDB reader slots of processes that ended without closing the store, and returns the number of freed
   * slots. Until a slot is freed, the database cannot reuse the pages that the ended process was reading.
   */
  clearStale(): number {
    return this.#disk.clearStale();
  }

  async close(): Promise<void> {
    await this.#current.store.close();
    await this.#disk.close();
  }
}

class HeldSnapshot implements ReaderSnapshot {
  readonly store: StoredChain;
  readonly #clock: Pick<Clock, 'after'>;
  #queries = 0;
  #isOver = false;
  #timer: Timer | undefined;

  constructor(store: StoredChain, clock: Pick<Clock, 'after'>) {
    this.store = store;
    this.#clock = clock;
  }

  async hold<T>(query: () => Promise<T>): Promise<T> {
    this.#queries += 1;
    try {
      return await query();
    } finally {
      this.#queries -= 1;
      if (this.#isOver && this.#queries === 0) this.#close();
    }
  }

  retire(): void {
    this.#isOver = true;
    if (this.#queries === 0) this.#close();
    else this.#timer = this.#clock.after(SNAPSHOT_MS_MAX, () => this.#close());
  }

  #close(): void {
    this.#timer?.cancel();
    void this.store.close();
  }
}
