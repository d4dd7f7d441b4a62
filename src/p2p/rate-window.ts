/** Implements rate limits with counters in windows of time, and with token buckets of bytes. */

import type { Clock } from '../ports/clock.ts';

/** Counts uses in a window of time. A new window starts with the first use after the previous window has ended. */
export class RateWindow {
  readonly #windowMs: number;
  #startMs = Number.NEGATIVE_INFINITY;
  #uses = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /**
   * Counts `count` uses; `count` may be 0.
   *
   * @returns the number of uses in the present window, including the new uses
   */
  use(nowMs: number, count = 1): number {
    // If the clock was set back, a new window starts, because the present window would last too long.
    if (nowMs - this.#startMs >= this.#windowMs || nowMs < this.#startMs) {
      this.#startMs = nowMs;
      this.#uses = 0;
    }
    this.#uses += count;
    return this.#uses;
  }

  /** Restarts a running window at the current time, and keeps its count of uses. */
  extend(nowMs: number): void {
    if (this.leftMs(nowMs) > 0 && nowMs >= this.#startMs) this.#startMs = nowMs;
  }

  /** Time in milliseconds until a new window can start. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#startMs + this.#windowMs - nowMs);
  }
}

/** Limits how many actions may start in one second. Further actions wait for the following second. */
export class Pacer {
  readonly #clock: Clock;
  readonly #perSecondMax: number;
  readonly #second = new RateWindow(1_000);

  constructor(clock: Clock, perSecondMax: number) {
    this.#clock = clock;
    this.#perSecondMax = perSecondMax;
  }

  /** Resolves when the rate allows the start of another action. */
  async wait(): Promise<void> {
    while (this.#second.use(this.#clock.nowMs()) > this.#perSecondMax) {
      const leftMs = this.#second.leftMs(this.#clock.nowMs());
      await new Promise<void>((settle) => {
        this.#clock.after(leftMs, settle);
      });
    }
  }
}

/** A bucket's capacity in bytes, and the bytes that it gains in each second. */
export interface ByteRate {
  readonly capacity: number;
  readonly perSecond: number;
  /** Maximum debt in bytes; the capacity by default. */
  readonly debtMax?: number;
}

/**
 * A token bucket of bytes. A caller may take more bytes than the bucket has. The missing bytes are the debt of the
 * bucket. While the bucket has a debt, the bytes that it gains reduce this debt.
 */
export class ByteBucket {
  readonly #rate: ByteRate;
  #level: number;
  #filledMs = Number.NEGATIVE_INFINITY;

  constructor(rate: ByteRate) {
    this.#rate = rate;
    this.#level = rate.capacity;
  }

  /** Returns the number of bytes in the bucket; a negative number is a debt. */
  level(nowMs: number): number {
    const { capacity, perSecond } = this.#rate;
    // If the clock was set back, the elapsed time counts as zero, and the bucket continues from the new time.
    const elapsedMs = Number.isFinite(this.#filledMs) ? Math.max(0, nowMs - this.#filledMs) : 0;
    this.#level = Math.min(capacity, this.#level + (elapsedMs * perSecond) / 1_000);
    this.#filledMs = nowMs;
    return this.#level;
  }

  /** Takes bytes. `debtMax` limits the debt, so that the bucket does not have a debt for long. */
  take(bytes: number, nowMs: number): void {
    const { capacity, debtMax = capacity } = this.#rate;
    this.#level = Math.max(-debtMax, this.level(nowMs) - bytes);
  }

  /** Time in milliseconds until the bucket has no debt. */
  debtMs(nowMs: number): number {
    return Math.max(0, Math.ceil((-this.level(nowMs) / this.#rate.perSecond) * 1_000));
  }
}
