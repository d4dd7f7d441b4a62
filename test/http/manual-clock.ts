/** A monotonic clock that a test moves forward. */

import type { MonotonicClock } from '../../src/http/monotonic-clock.ts';
import type { Timer } from '../../src/ports/clock.ts';

export class ManualClock implements MonotonicClock {
  #nowMs = 1_000;
  readonly #timers = new Set<{ readonly atMs: number; readonly work: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, work: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, work };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Moves the clock forward by `ms`, and runs each timer that falls due in this time. */
  pass(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (let due = this.#first(endMs); due !== undefined; due = this.#first(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      this.#timers.delete(due);
      due.work();
    }
    this.#nowMs = Math.max(this.#nowMs, endMs);
  }

  /** Moves the clock forward without running timers, like a computation that takes time. */
  spend(ms: number): void {
    this.#nowMs += ms;
  }

  /** Moves the clock to the next timer, runs the timer, and lets pending promises settle. */
  async next(): Promise<void> {
    const first = this.#first(Number.POSITIVE_INFINITY);
    if (first === undefined) throw new Error('nothing waits');
    this.pass(Math.max(0, first.atMs - this.#nowMs));
    await this.settle();
  }

  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #first(endMs: number) {
    return [...this.#timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}
