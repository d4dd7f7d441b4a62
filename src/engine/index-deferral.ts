/**
 * Defers writes to the indexes of transactions while the node downloads blocks that are far behind the network. A
 * backfill later writes the missing index entries of thousands of blocks together. A backfill takes much less time than
 * writing the entries with each commit (`store/index/deferred-indexes.ts`). The reading processes (`IndexUsers`) are
 * separate processes that read the same store and answer HTTP requests. Until the next backfill, the reading processes
 * show the last state with complete indexes. The time between two backfills is limited, so that this state does not
 * become old.
 */

import { codeOf, messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { DeferrableIndexes, IndexUsers } from '../ports/store.ts';
import type { DiskWatch } from './disk-watch.ts';

/** A downloaded block is far behind the network if its slot is this number of slots or more before the current slot. */
export const FAR_BEHIND_SLOTS = 1000;
/**
 * Maximum lag of the indexes. The lag is the number of blocks whose transactions are not in the indexes yet, plus the
 * number of these transactions. When the lag exceeds this maximum, a backfill starts. Until then, the store keeps the
 * missing entries in memory. At a lag of `LAG_MAX`, these entries take about five megabytes. If the node is killed at
 * this lag, the node writes the missing entries at its next start. This work takes a few seconds on a short chain, and
 * more time on a longer chain, whose indexes have more long lists of transactions (decision 3 in `docs/decisions`). If
 * the rules refuse a downloaded block, the store drops the entries from memory. The store later computes the entries
 * again from the stored blocks, which takes up to a few seconds.
 */
export const LAG_MAX = 50_000;
/**
 * Maximum time in milliseconds for which indexing stays deferred. A timer checks this maximum every
 * `CHECK_INTERVAL_MS`. If indexing has been deferred for a longer time, a backfill starts. Meanwhile, the reading
 * processes (separate processes that answer HTTP requests) show the last state with complete indexes. This state is
 * therefore never much older than `LAG_MS_MAX` plus the time of a backfill.
 */
const LAG_MS_MAX = 5_000;
/**
 * Interval in milliseconds at which a timer checks `LAG_MAX` and `LAG_MS_MAX`. After each commit of downloaded blocks,
 * `Chain.append` calls `limit`, which also checks these two limits.
 */
const CHECK_INTERVAL_MS = 1_000;
/**
 * Approximate number of pages of the store that one step of a backfill changes. Other work of the node runs between two
 * steps.
 */
const PAGES_PER_STEP = 1_000;

export interface IndexDeferralDependencies {
  readonly indexes: DeferrableIndexes;
  readonly users: IndexUsers;
  readonly clock: Clock;
  readonly disk: Pick<DiskWatch, 'watch' | 'checkWritable'>;
  readonly observer: Observer;
  /** Runs work in the serial queue of the chain. */
  readonly runExclusive: (work: () => Promise<void>) => Promise<void>;
}

/** Call `begin`, `limit` and `end` in the serial queue of the chain, so that no block is appended during a backfill. */
export class IndexDeferral {
  readonly #dependencies: IndexDeferralDependencies;
  /** Unix time in milliseconds at which the deferral began; undefined if indexing is not deferred. */
  #sinceMs: number | undefined;
  #hasFailed = false;
  #isBackfilling = false;
  #timer: Timer | undefined;
  /**
   * Code of the last logged error; undefined after a full backfill. The class does not log another error with this
   * code.
   */
  #loggedCode: string | undefined;

  constructor(dependencies: IndexDeferralDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Call this method before the chain appends blocks that are far behind the network. If `IndexUsers.canWait` returns
   * true, the method begins to defer indexing.
   */
  begin(): void {
    const { indexes, users, clock } = this.#dependencies;
    if (this.#sinceMs !== undefined || !users.canWait()) return;
    indexes.deferIndexing();
    this.#sinceMs = clock.nowMs();
    this.#arm();
  }

  /**
   * Call this method before the first commit of downloaded blocks, and after each commit. It calls `end` in each of
   * these cases: the lag exceeds `LAG_MAX`, indexing has been deferred for longer than `LAG_MS_MAX`, a reading process
   * (a separate process that answers HTTP requests) is starting and waits for complete indexes, or the last backfill
   * failed.
   *
   * @throws ProtocolError from `end`
   */
  async limit(): Promise<void> {
    if (this.#isDue()) await this.end();
  }

  /**
   * Backfills the indexes, and ends the deferral. Does nothing if indexing is not deferred.
   *
   * @throws ProtocolError `STORE_WRITE_FAILED`, `STORE_TAKEN_OVER`, `STORE_UNREADABLE` or `STORE_BACKFILL_FAILED`.
   *   After each of these errors, indexing stays deferred. While the disk is writable, a timer then calls `end` every
   *   second
   */
  async end(): Promise<void> {
    if (this.#sinceMs === undefined) return;
    const { indexes, users } = this.#dependencies;
    this.#hasFailed = true;
    await this.#backfill();
    this.#hasFailed = false;
    this.#loggedCode = undefined;
    indexes.resumeIndexing();
    this.stop();
    this.#sinceMs = undefined;
    users.completed();
  }

  /**
   * True while indexing is deferred: after a call of `begin` has deferred indexing, until a call of `end` has completed
   * the indexes.
   */
  get isLagging(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** True while a backfill runs. The node commits no block during this time. */
  get isBackfilling(): boolean {
    return this.#isBackfilling;
  }

  /**
   * Stops checking the limits. If the indexes still lag when the node stops, the node writes the missing entries at its
   * next start.
   */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #isDue(): boolean {
    const { indexes, users, clock } = this.#dependencies;
    if (this.#sinceMs === undefined) return false;
    const ageMs = clock.nowMs() - this.#sinceMs;
    // The age of the deferral is below 0 if the clock of the machine was set back. In this case, the true age is
    // unknown, so the method requests a backfill.
    const isOld = ageMs > LAG_MS_MAX || ageMs < 0;
    return this.#hasFailed || isOld || indexes.indexLag > LAG_MAX || users.isAwaited();
  }

  /**
   * Starts the timer that checks the limits. After each commit of downloaded blocks, `Chain.append` also checks the
   * limits. The timer is necessary because the node makes no commit while the peer that sends the blocks is silent.
   */
  #arm(): void {
    const { clock, runExclusive, disk, observer } = this.#dependencies;
    const timer = clock.after(CHECK_INTERVAL_MS, () => {
      const isUseless = (): boolean => this.#timer !== timer || disk.checkWritable() !== undefined;
      void runExclusive(async () => (isUseless() ? undefined : this.limit()))
        .catch((error: unknown) => {
          const code = codeOf(error) ?? 'STORE_BACKFILL_FAILED';
          if (code === this.#loggedCode) return;
          this.#loggedCode = code;
          observer.log('error', code, 'the indexes of transactions are incomplete', { reason: messageOf(error) });
        })
        .finally(() => {
          if (this.#timer === timer) this.#arm();
        });
    });
    this.#timer = timer;
  }

  async #backfill(): Promise<void> {
    const { indexes, clock, disk } = this.#dependencies;
    const steps = indexes.backfill({ pagesMax: PAGES_PER_STEP })[Symbol.iterator]();
    this.#isBackfilling = true;
    try {
      while (disk.watch(() => steps.next()).done !== true) {
        await new Promise<void>((resolve) => {
          clock.after(0, resolve);
        });
      }
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      // The prefix `STORE_` of the code tells the synchronizer that no peer caused this error. For example, a store
      // transaction of another part of the node fails between two steps of the backfill. The store then drops the index
      // entries that it keeps in memory, so the backfill fails.
      throw new ProtocolError('STORE_BACKFILL_FAILED', {}, `the indexes were not completed: ${messageOf(error)}`, {
        cause: error,
      });
    } finally {
      this.#isBackfilling = false;
    }
  }
}
