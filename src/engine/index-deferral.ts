/**
 * Defers the indexes of transactions while the node downloads blocks that are far behind the network. Writing the index
 * entries of thousands of blocks at once takes a fraction of the time of writing them with each commit
 * (`store/index/deferred-indexes.ts`). The reading processes keep their last view with complete indexes until the
 * next backfill. The lag is therefore limited in time, too.
 */

import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeferrableIndexes, IndexUsers } from '../ports/store.ts';
import type { DiskWatch } from './disk-watch.ts';

/** A downloaded block is far behind the network if its slot is this number of slots or more before the current slot. */
export const FAR_BEHIND_SLOTS = 1000;
/**
 * Lag of the indexes, in blocks and transactions, above which the indexes are backfilled. A lag of this size takes
 * about ten megabytes of memory. If the node is killed at this lag, the next start writes the missing entries in some
 * seconds.
 */
export const LAG_MAX = 100_000;
/** Time in milliseconds after which lagging indexes are backfilled. Readers show a chain that is older by this time. */
const LAG_MS_MAX = 8_000;
/** Approximate number of pages that one step of a backfill changes. Other work of the node runs between two steps. */
const PAGES_PER_STEP = 1_000;

export interface IndexDeferralDependencies {
  readonly indexes: DeferrableIndexes;
  readonly users: IndexUsers;
  /** Clock that nobody can stop. */
  readonly clock: Clock;
  readonly disk: Pick<DiskWatch, 'watch'>;
}

/** Call all methods in the serial queue of the chain, so that no block is appended during a backfill. */
export class IndexDeferral {
  readonly #dependencies: IndexDeferralDependencies;
  /** Time of the clock since which the indexes may lag; undefined if indexing is not deferred. */
  #sinceMs: number | undefined;

  constructor(dependencies: IndexDeferralDependencies) {
    this.#dependencies = dependencies;
  }

  /** Call before blocks far behind the network are appended. The indexes then lag, unless a process needs them. */
  begin(): void {
    const { indexes, users, clock } = this.#dependencies;
    if (this.#sinceMs !== undefined || !users.canWait()) return;
    indexes.deferIndexing();
    this.#sinceMs = clock.nowMs();
  }

  /**
   * Call after each commit. Ends the deferral if the indexes lag too far or too long, or if a process needs them.
   *
   * @throws ProtocolError as `end`
   */
  async limit(): Promise<void> {
    const { indexes, users, clock } = this.#dependencies;
    if (this.#sinceMs === undefined) return;
    if (indexes.indexLag > LAG_MAX || clock.nowMs() - this.#sinceMs > LAG_MS_MAX || users.isAwaited()) await this.end();
  }

  /**
   * Backfills the indexes, and ends the deferral. Does nothing if indexing is not deferred.
   *
   * @throws ProtocolError `STORE_WRITE_FAILED`, `STORE_TAKEN_OVER`, `STORE_UNREADABLE` or `STORE_BACKFILL_FAILED`. The
   *   next commit then writes the missing entries
   */
  async end(): Promise<void> {
    if (this.#sinceMs === undefined) return;
    const { indexes, users } = this.#dependencies;
    try {
      await this.#backfill();
    } finally {
      this.#sinceMs = undefined;
      indexes.resumeIndexing();
    }
    users.completed();
  }

  async #backfill(): Promise<void> {
    const { indexes, clock, disk } = this.#dependencies;
    const steps = indexes.backfill({ pagesMax: PAGES_PER_STEP })[Symbol.iterator]();
    try {
      while (disk.watch(() => steps.next()).done !== true) {
        await new Promise<void>((resolve) => {
          clock.after(0, resolve);
        });
      }
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      // A peer must not be blamed for an error of our store. For example, a failed transaction of another part of the
      // node ends the backfill.
      throw new ProtocolError('STORE_BACKFILL_FAILED', {}, `the indexes were not completed: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}
