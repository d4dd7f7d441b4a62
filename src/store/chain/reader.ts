/**
 * The chain store of a folder, for a process that reads beside the node. All reads see one moment, because they use one
 * read transaction of the database, until the process moves on to a newer moment.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { openLmdbReader, type LmdbReader } from '../disk/lmdb.ts';
import type { StoredChain } from './chain-store.ts';
import { claimedStore, readChainStore, type ChainStoreOptions, type MemoryChainStoreOptions } from './open.ts';

/**
 * Longest time that an old moment stays open for questions that began in it. Then these questions fail, and the
 * database can use the pages of that moment again.
 */
const MOMENT_MS_MAX = 30_000;

/** The chain at one moment. */
export interface Moment {
  readonly store: StoredChain;
  /** Keeps the moment open until the question is answered. */
  hold<T>(question: () => Promise<T>): Promise<T>;
}

export class ChainReader {
  readonly #options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>;
  readonly #clock: Clock;
  readonly #disk: LmdbReader;
  #current: HeldMoment;

  /**
   * @throws ProtocolError like `openChainSnapshot`
   */
  constructor(options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#disk = openLmdbReader(options.directory, clock);
    try {
      this.#current = new HeldMoment(readChainStore(this.#disk.snapshot(), options), clock);
    } catch (error) {
      void this.#disk.close();
      throw error;
    }
  }

  get current(): Moment {
    return this.#current;
  }

  /**
   * Moves on to the last commit of the node. An old moment with open questions stays open and occupies its pages. So a
   * caller that outsiders can trigger at will must pass a condition.
   *
   * @param isWanted decides whether to move to this moment; default: always
   * @returns true when it moved
   */
  move(isWanted: (store: StoredChain) => boolean = () => true): boolean {
    const before = this.#current;
    const store = claimedStore(this.#disk.snapshot(), this.#options, this.#options.directory);
    let isTaken = false;
    try {
      isTaken = isWanted(store);
    } finally {
      // The new moment is closed when it is not wanted, and also when `isWanted` throws; otherwise its pages could not
      // be used again.
      if (!isTaken) void store.close();
    }
    if (!isTaken) return false;
    this.#current = new HeldMoment(store, this.#clock);
    before.retire();
    return true;
  }

  /**
   * Frees the reader slots of processes that ended without closing, because these slots keep old pages in use. @returns
   * number of slots freed
   */
  clearStale(): number {
    return this.#disk.clearStale();
  }

  async close(): Promise<void> {
    await this.#current.store.close();
    await this.#disk.close();
  }
}

class HeldMoment implements Moment {
  readonly store: StoredChain;
  readonly #clock: Pick<Clock, 'after'>;
  #questions = 0;
  #isOver = false;
  #timer: Timer | undefined;

  constructor(store: StoredChain, clock: Pick<Clock, 'after'>) {
    this.store = store;
    this.#clock = clock;
  }

  async hold<T>(question: () => Promise<T>): Promise<T> {
    this.#questions += 1;
    try {
      return await question();
    } finally {
      this.#questions -= 1;
      if (this.#isOver && this.#questions === 0) this.#close();
    }
  }

  retire(): void {
    this.#isOver = true;
    if (this.#questions === 0) this.#close();
    else this.#timer = this.#clock.after(MOMENT_MS_MAX, () => this.#close());
  }

  #close(): void {
    this.#timer?.cancel();
    void this.store.close();
  }
}
