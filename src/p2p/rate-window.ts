/**
 * Implements rate limits in two ways: with counters that start at 0 in each new window of time, and with token buckets
 * whose tokens are bytes.
 */

import type { Clock } from '../ports/clock.ts';

/**
 * Counts uses (for example, messages or connections of a peer) in a window of time. A new window starts with the first
 * use after the previous window has ended.
 */
export class RateWindow {
  readonly #windowMs: number;
  #startMs = Number.NEGATIVE_INFINITY;
  #uses = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /**
   * Adds `count` uses to the count of the present window. If this window has ended, a new window starts first. If
   * `count` is 0, the method adds nothing.
   *
   * @returns the number of uses in the present window, including the new uses
   */
  use(nowMs: number, count = 1): number {
    // If the clock was set back, a new window starts. Otherwise, the present window would last too long.
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

  /** Returns the time in milliseconds until the present window ends, or 0 if no window is running. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#startMs + this.#windowMs - nowMs);
  }
}

/** Limits how many actions can start in one second. Further actions wait for the following second. */
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

/**
 * The parameters of a token bucket. `capacity` is the maximum number of bytes in the bucket. `perSecond` is the number
 * of bytes that the bucket gains in each second.
 */
export interface ByteRate {
  readonly capacity: number;
  readonly perSecond: number;
  /** Maximum debt of the bucket in bytes (see `ByteBucket`). If this member is absent, the maximum is `capacity`. */
  readonly debtMax?: number;
}

/**
 * A token bucket of bytes. A caller can take more bytes than the bucket has. The missing bytes are the debt of the
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

  /**
   * Takes `bytes` bytes from the bucket. The debt never exceeds `debtMax`. This maximum limits the time for which the
   * bucket has a debt.
   */
  take(bytes: number, nowMs: number): void {
    const { capacity, debtMax = capacity } = this.#rate;
    this.#level = Math.max(-debtMax, this.level(nowMs) - bytes);
  }

  /** Returns the time in milliseconds until the bucket has no debt any more, or 0 if the bucket has no debt. */
  debtMs(nowMs: number): number {
    return Math.max(0, Math.ceil((-this.level(nowMs) / this.#rate.perSecond) * 1_000));
  }
}
