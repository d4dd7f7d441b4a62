/**
 * Counts the transactions that the node drops from the transaction journal, for example because they are invalid. A
 * single log line reports all transactions that the node drops within about one second.
 */

import type { Clock, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { TransactionId } from '../../protocol/types.ts';

/** Time in milliseconds over which the node collects dropped transactions into one log line. */
const COLLECTED_MS = 1_000;
/** Maximum number of transaction ids in one log line. */
const IDS_MAX = 10;

interface Dependencies {
  readonly clock: Clock;
  readonly observer: Observer;
}

export class DroppedLog {
  readonly #dependencies: Dependencies;
  #timer: Timer | undefined;
  /**
   * The transactions whose ids the next log line will contain: the first `IDS_MAX` transactions that the node dropped
   * after the last line.
   */
  #dropped: { readonly id: TransactionId; readonly reason: string }[] = [];
  #count = 0;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  add(id: TransactionId, reason: string): void {
    const { clock, observer } = this.#dependencies;
    observer.count('pool_accepted_dropped_total');
    this.#count += 1;
    if (this.#dropped.length < IDS_MAX) this.#dropped.push({ id, reason });
    this.#timer ??= clock.after(COLLECTED_MS, () => this.#log());
  }

  /** Logs the collected transactions now. */
  close(): void {
    this.#timer?.cancel();
    this.#log();
  }

  #log(): void {
    this.#timer = undefined;
    if (this.#dropped.length === 0) return;
    const message = 'dropped transactions that had been accepted';
    const transactionIds = this.#dropped.map(({ id }) => id).join(' ');
    const fields = { count: this.#count, transactionIds, reason: this.#reasons() };
    this.#dependencies.observer.log('warn', 'ACCEPTED_TRANSACTIONS_DROPPED', message, fields);
    this.#dropped = [];
    this.#count = 0;
  }

  /**
   * Returns the common reason of all transactions in the line. If there are several reasons, returns each reason with
   * the ids of the transactions that the node dropped for this reason.
   */
  #reasons(): string {
    const reasons = [...new Set(this.#dropped.map(({ reason }) => reason))];
    const [only = '', ...others] = reasons;
    if (others.length === 0) return only;
    const idsOf = (reason: string): string =>
      this.#dropped
        .filter((each) => each.reason === reason)
        .map(({ id }) => id)
        .join(' ');
    return reasons.map((reason) => `${idsOf(reason)}: ${reason}`).join('; ');
  }
}
