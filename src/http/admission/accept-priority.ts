/**
 * Puts work for strangers off while connections wait to be accepted. The event loop accepts one connection of a listener in each
 * of its turns, so an operator's connection behind a thousand others takes a thousand turns: with work in each of them that is
 * seconds. A turn that only accepts takes some 0.1 ms.
 */

import type { MonotonicClock } from '../monotonic-clock.ts';

/** Accepting without work between, in milliseconds: some 700 connections. */
const ACCEPTING_MS = 50;
/** Work between two such times, in milliseconds, so that a flood of connections does not end all service. */
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

  /** A connection was accepted: whether another one waits behind it shows in the next turn of the event loop. */
  accepted(): void {
    this.#hasAccepted = true;
    if (this.#isLooking) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#workingUntilMs) return;
    this.#isLooking = true;
    this.#sinceMs = nowMs;
    setImmediate(() => this.#look());
  }

  /** Whether connections may be waiting to be accepted, and work has to wait for them. */
  get isBusy(): boolean {
    return this.#isLooking;
  }

  /** Resolves when work may go on. */
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
