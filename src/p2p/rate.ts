/** Counting in fixed windows of time. */

/** Uses within the running window. A window starts with the first use after the last one ended. */
export class RateWindow {
  readonly #windowMs: number;
  #startMs = Number.NEGATIVE_INFINITY;
  #uses = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Counts one use and says which of its window it is, from 1. */
  use(nowMs: number): number {
    // A clock that was set back must not freeze a window.
    if (nowMs - this.#startMs >= this.#windowMs || nowMs < this.#startMs) {
      this.#startMs = nowMs;
      this.#uses = 0;
    }
    this.#uses += 1;
    return this.#uses;
  }
}
