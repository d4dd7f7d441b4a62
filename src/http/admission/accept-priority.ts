/**
 * Delays the requests of strangers (clients that are not trusted) while connections wait to be accepted. The event loop
 * accepts one connection of a listener in each iteration. If a thousand connections of strangers wait before an
 * operator's connection, the operator's connection therefore waits for a thousand iterations. If each iteration also
 * does other work, these iterations take seconds. Without other work, an iteration takes about 0.1 ms.
 */

import type { MonotonicClock } from '../monotonic-clock.ts';

/**
 * Maximum length of an accepting phase, in milliseconds. In this phase, the node accepts connections and does no work
 * for strangers. The phase is long enough for about 500 connections.
 */
const ACCEPTING_MS = 50;
/**
 * Minimum time for other work, in milliseconds, after an accepting phase of the maximum length (`ACCEPTING_MS`). In an
 * accepting phase, the node accepts connections and does no work for strangers (untrusted clients). The next accepting
 * phase starts after the minimum time at the earliest. Without this time, a flood of connections would stop all work
 * for strangers.
 */
const WORKING_MS = 10;

export class AcceptPriority {
  readonly #clock: Pick<MonotonicClock, 'nowMs'>;
  #isLooking = false;
  #hasAccepted = false;
  #sinceMs = 0;
  #workingUntilMs = Number.NEGATIVE_INFINITY;
  #waiting: (() => void)[] = [];

  constructor(clock: Pick<MonotonicClock, 'nowMs'>) {
    this.#clock = clock;
  }

  /** Records an accepted connection. The next iteration of the event loop shows whether another connection waits. */
  accepted(): void {
    this.#hasAccepted = true;
    if (this.#isLooking) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#workingUntilMs) return;
    this.#isLooking = true;
    this.#sinceMs = nowMs;
    setImmediate(() => this.#look());
  }

  /**
   * True during an accepting phase: a phase in which the node accepts the waiting connections one after another. The
   * work for strangers (untrusted clients) must wait until the phase ends.
   */
  get isBusy(): boolean {
    return this.#isLooking;
  }

  /**
   * Resolves when the node is not in an accepting phase. In an accepting phase, the node accepts connections, and the
   * work for strangers (untrusted clients) waits.
   */
  async over(): Promise<void> {
    if (this.#isLooking) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #look(): void {
    const nowMs = this.#clock.nowMs();
    const isLate = nowMs - this.#sinceMs > ACCEPTING_MS;
    if (this.#hasAccepted && !isLate) {
      this.#hasAccepted = false;
      setImmediate(() => this.#look());
      return;
    }
    if (isLate) this.#workingUntilMs = nowMs + WORKING_MS;
    this.#isLooking = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }
}
