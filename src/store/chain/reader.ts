/**
 * The chain store of a folder for a process that reads beside the node. What is read at once is of one moment: a read transaction
 * of the disk that stands still until the process moves on to the next.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import { openLmdbReader, type LmdbReader } from '../disk/lmdb.ts';
import type { StoredChain } from './chain-store.ts';
import { claimedStore, readChainStore, type ChainStoreOptions, type MemoryChainStoreOptions } from './open.ts';

/** A moment that is over is kept for questions that were asked in it for so long: then they fail, and its pages are free again. */
const MOMENT_MS_MAX = 30_000;

/** The chain as it was when the moment began. */
export interface Moment {
  readonly store: StoredChain;
  /** Keeps the moment until the answer is there. */
  hold<T>(question: () => Promise<T>): Promise<T>;
}

export class ChainReader {
  readonly #options: MemoryChainStoreOptions & Pick<ChainStoreOptions, 'directory'>;
  readonly #clock: Clock;
  readonly #disk: LmdbReader;
  #current: HeldMoment;

  /** @throws ProtocolError as `openChainSnapshot` */
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
   * Goes on to the moment that the node has written last. A moment in which questions are under way stays open with its pages, so
   * that one who may be called at will gives a condition.
   *
   * @param isWanted whether to go on to this one; always unless given
   * @returns whether it went on
   */
  move(isWanted: (store: StoredChain) => boolean = () => true): boolean {
    const before = this.#current;
    const store = claimedStore(this.#disk.snapshot(), this.#options, this.#options.directory);
    let isTaken = false;
    try {
      isTaken = isWanted(store);
    } finally {
      // Its pages could not be used again while it is open, also where it could not be looked at.
      if (!isTaken) void store.close();
    }
    if (!isTaken) return false;
    this.#current = new HeldMoment(store, this.#clock);
    before.retire();
    return true;
  }

  /** Frees the places of readers that ended without doing so, which would pin their pages. @returns how many */
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
