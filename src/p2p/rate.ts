/** Counting in fixed windows of time. */

import type { Clock } from '../ports/clock.ts';

/** Uses within the running window. A window starts with the first use after the last one ended. */
export class RateWindow {
  readonly #windowMs: number;
  #startMs = Number.NEGATIVE_INFINITY;
  #uses = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Counts a use, or several, and says how many of its window there are with it. */
  use(nowMs: number, count = 1): number {
    // A clock that was set back must not freeze a window.
    if (nowMs - this.#startMs >= this.#windowMs || nowMs < this.#startMs) {
      this.#startMs = nowMs;
      this.#uses = 0;
    }
    this.#uses += count;
    return this.#uses;
  }

  /** A window that runs goes on for its full length from now. */
  extend(nowMs: number): void {
    if (this.leftMs(nowMs) > 0 && nowMs >= this.#startMs) this.#startMs = nowMs;
  }

  /** Time until a new window can start. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#startMs + this.#windowMs - nowMs);
  }
}

/** Bounds the number of starts in a second: a further one waits for the next second. */
export class Pace {
  readonly #clock: Clock;
  readonly #perSecondMax: number;
  readonly #second = new RateWindow(1_000);

  constructor(clock: Clock, perSecondMax: number) {
    this.#clock = clock;
    this.#perSecondMax = perSecondMax;
  }

  /** Resolves when one more may begin. */
  async wait(): Promise<void> {
    while (this.#second.use(this.#clock.nowMs()) > this.#perSecondMax) {
      const leftMs = this.#second.leftMs(this.#clock.nowMs());
      await new Promise<void>((settle) => {
        this.#clock.after(leftMs, settle);
      });
    }
  }
}

/** Bytes that may come at once, and then in each second. */
export interface ByteRate {
  readonly capacity: number;
  readonly perSecond: number;
  /** Bytes that may be owed; the capacity unless told. */
  readonly debtMax?: number;
}

/** A token bucket of bytes. As long as it is not empty, it may be overdrawn; the debt is paid back before the next use. */
export class ByteBucket {
  readonly #rate: ByteRate;
  #level: number;
  #filledMs = Number.NEGATIVE_INFINITY;

  constructor(rate: ByteRate) {
    this.#rate = rate;
    this.#level = rate.capacity;
  }

  level(nowMs: number): number {
    const { capacity, perSecond } = this.#rate;
    // A clock that was set back adds nothing, and goes on from there.
    const elapsedMs = Number.isFinite(this.#filledMs) ? Math.max(0, nowMs - this.#filledMs) : 0;
    this.#level = Math.min(capacity, this.#level + (elapsedMs * perSecond) / 1_000);
    this.#filledMs = nowMs;
    return this.#level;
  }

  /** Takes bytes. The debt is bounded: others must not wait for bytes that one line sent long ago. */
  take(bytes: number, nowMs: number): void {
    const { capacity, debtMax = capacity } = this.#rate;
    this.#level = Math.max(-debtMax, this.level(nowMs) - bytes);
  }

  /** Time until nothing is owed. */
  debtMs(nowMs: number): number {
    return Math.max(0, Math.ceil((-this.level(nowMs) / this.#rate.perSecond) * 1_000));
  }
}
