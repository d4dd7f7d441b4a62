/** Logs when writes to the transaction journal begin to fail, and when they succeed again. */

import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';

/**
 * Minimum time in milliseconds between two log lines while writes fail. Each line after the first has the number of
 * transactions and members' signatures that the node has refused since the first failed write.
 */
const FAILURE_LOG_MS = 600_000;

interface Dependencies {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly observer: Observer;
}

export class JournalWriteLog {
  readonly #dependencies: Dependencies;
  /**
   * Undefined while writes succeed. While writes fail, the object has two Unix times in milliseconds: the time of the
   * first failed write, and the time of the last log line. The object also has the number of refused transactions and
   * members' signatures.
   */
  #failure: { readonly sinceMs: number; loggedMs: number; refused: number } | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Logs the first failed write, and then at most one line per `FAILURE_LOG_MS`. Without this limit, each failed write
   * would cause a line.
   */
  failed(reason: string): void {
    const { clock, observer } = this.#dependencies;
    const nowMs = clock.nowMs();
    const message = 'accepted transactions cannot be written to the disk';
    if (this.#failure === undefined) {
      this.#failure = { sinceMs: nowMs, loggedMs: nowMs, refused: 0 };
      observer.log('error', 'TRANSACTION_JOURNAL_FAILED', message, { reason });
      return;
    }
    const { sinceMs, loggedMs, refused } = this.#failure;
    // If the clock was set back, `loggedMs` can be in the future. In this case, the function logs a line immediately.
    if (nowMs >= loggedMs && nowMs < loggedMs + FAILURE_LOG_MS) return;
    this.#failure.loggedMs = nowMs;
    const fields = { reason, refused, since: new Date(sinceMs).toISOString() };
    observer.log('error', 'TRANSACTION_JOURNAL_FAILED', message, fields);
  }

  /**
   * Counts a transaction or a member's signature that the node refuses because the node could not write it to the
   * journal.
   */
  refused(): void {
    if (this.#failure !== undefined) this.#failure.refused += 1;
  }

  /** Logs the first successful write after a failure. */
  succeeded(): void {
    if (this.#failure === undefined) return;
    const { sinceMs, refused } = this.#failure;
    this.#failure = undefined;
    const fields = { refused, since: new Date(sinceMs).toISOString() };
    this.#dependencies.observer.log('info', 'TRANSACTION_JOURNAL_RECOVERED', 'transactions are accepted again', fields);
  }
}
