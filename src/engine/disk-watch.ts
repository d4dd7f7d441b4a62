/**
 * Watches whether writes to the disk succeed. After a failed write, the node neither signs nor downloads blocks until a
 * trial write has succeeded. Without this rule, a delegate could sign a block that the node cannot store.
 */

import { codeOf, messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { NoteStore } from '../ports/store.ts';

/** Minimum time in milliseconds from a failed write, or a failed trial write, to the next trial write. */
const TRIAL_INTERVAL_MS = 2000;
/**
 * Names of the notes (small records in the store) that a trial write stores and then removes. Each note takes one page
 * of the database. Together, the notes take more pages than the changes of any block, so a successful trial write shows
 * that the disk has space for a block. A block needs about one page for each database entry that it changes, because
 * most of these entries are on different pages. If the addresses in the transfers of a full block have many
 * transactions, the block also changes several hundred leaf blocks of the indexes (`counted-key-sets.ts`). Each leaf
 * block takes up to two pages.
 */
const TRIAL_NOTES = Array.from({ length: 1024 }, (_, index) => `disk/trial/${index}` as const);
const TRIAL_NOTE_BYTES = 4000;

/** The remedy for each error code of a failed write. An error with another code does not count as a failed write. */
const REMEDIES: Readonly<Record<string, string>> = {
  STORE_WRITE_FAILED: 'free space on the disk or repair the disk; the node then continues without a restart',
  STORE_TAKEN_OVER: 'stop this process, and start it again when no other process uses the folder',
};

export interface DiskWatchDependencies {
  readonly store: Pick<NoteStore, 'transact'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Observer;
}

/** The reason why the node is not ready to forge or to store a block. */
export interface NotReady {
  /** The reason why the node is not ready to forge or to store a block, as text for operators. */
  readonly reason: string;
  /** Code of the fault, such as `STORE_WRITE_FAILED`; absent if nothing is wrong on this node. */
  readonly cause?: string;
  /**
   * Unix time in milliseconds of the first write that failed since the last recovery, or since the start of the node if
   * there was no recovery. A recovery is a successful trial write to the store. If writes to the signing journal
   * failed, a recovery is a successful write to this journal. Absent if the reason is not a failed write.
   */
  readonly writesFailSinceMs?: number;
}

export class DiskWatch {
  readonly #dependencies: DiskWatchDependencies;
  /**
   * The last failure of a write or of a trial write, and the time of this failure. Undefined if no write has failed
   * since the start, or since the last successful trial write.
   */
  #failure:
    { readonly notReady: NotReady & { readonly writesFailSinceMs: number }; readonly seenMs: number } | undefined;

  constructor(dependencies: DiskWatchDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Runs a change of the store. If a write fails, the method records and logs the failure.
   *
   * @throws every error that `change` throws
   */
  watch<T>(change: () => T): T {
    try {
      const result = change();
      // The success of this change does not clear an earlier failure, because the change can need less disk space than
      // a block. Only a successful trial write clears the failure.
      this.checkWritable();
      return result;
    } catch (error) {
      if (error instanceof ProtocolError) {
        const remedy = REMEDIES[error.code];
        if (remedy !== undefined) this.#fails(error, remedy);
      }
      throw error;
    }
  }

  /**
   * Returns the reason why writes to the store fail; undefined if no failure is known. If the last failure is at
   * least `TRIAL_INTERVAL_MS` old, this method first makes a trial write.
   */
  checkWritable(): NotReady | undefined {
    if (this.#failure !== undefined && this.#dependencies.clock.nowMs() - this.#failure.seenMs >= TRIAL_INTERVAL_MS)
      this.#try();
    return this.#failure?.notReady;
  }

  #try(): void {
    const { store, observer } = this.#dependencies;
    try {
      for (const note of [Buffer.alloc(TRIAL_NOTE_BYTES), undefined]) {
        store.transact((writer) => {
          for (const key of TRIAL_NOTES) writer.setNote(key, note);
        });
      }
      this.#failure = undefined;
      observer.log('info', 'STORE_RECOVERED', 'writes to the disk succeed again');
    } catch (error) {
      // The error of the trial write is recorded and not thrown. If `watch` makes the trial write, the change that
      // `watch` ran is already on disk. The caller of `watch` must therefore not get an error.
      this.#recordFailure(error);
    }
  }

  #fails(error: ProtocolError, remedy: string): void {
    this.#recordFailure(error);
    this.#dependencies.observer.log('error', error.code, `blocks cannot be stored: ${remedy}`, {
      reason: error.message,
    });
  }

  #recordFailure(error: unknown): void {
    const cause = codeOf(error);
    const seenMs = this.#dependencies.clock.nowMs();
    const writesFailSinceMs = this.#failure?.notReady.writesFailSinceMs ?? seenMs;
    const notReady = { reason: messageOf(error), ...(cause !== undefined && { cause }), writesFailSinceMs };
    this.#failure = { notReady, seenMs };
  }
}
