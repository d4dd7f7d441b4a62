/**
 * Runs callbacks after a delay. The callbacks run in the order of the calls of `push`, even if a later callback has a
 * shorter delay.
 */

import type { Clock, Timer } from '../../ports/clock.ts';

interface Entry {
  readonly dueMs: number;
  readonly work: () => void;
}

export class DelayLine {
  readonly #clock: Clock;
  readonly #entriesMax: number;
  #entries: Entry[] = [];
  #timer: Timer | undefined;

  /** @param entriesMax maximum number of waiting callbacks; further callbacks are dropped */
  constructor(clock: Clock, entriesMax: number) {
    this.#clock = clock;
    this.#entriesMax = entriesMax;
  }

  /**
   * Calls `work` after the delay, and after all callbacks that were pushed earlier. If the delay is 0 and no other
   * callback waits, calls `work` immediately. If `entriesMax` callbacks wait already, drops `work`.
   */
  push(delayMs: number, work: () => void): void {
    if (delayMs <= 0 && this.#entries.length === 0) {
      work();
      return;
    }
    if (this.#entries.length >= this.#entriesMax) return;
    const lastMs = this.#entries.at(-1)?.dueMs ?? 0;
    this.#entries.push({ dueMs: Math.max(lastMs, this.#clock.nowMs() + delayMs), work });
    this.#arm();
  }

  /** Drops all waiting callbacks. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#entries = [];
  }

  #arm(): void {
    const [first] = this.#entries;
    if (first === undefined || this.#timer !== undefined) return;
    this.#timer = this.#clock.after(Math.max(0, first.dueMs - this.#clock.nowMs()), () => {
      this.#timer = undefined;
      const nowMs = this.#clock.nowMs();
      while (this.#entries[0] !== undefined && this.#entries[0].dueMs <= nowMs) this.#entries.shift()?.work();
      this.#arm();
    });
  }
}
