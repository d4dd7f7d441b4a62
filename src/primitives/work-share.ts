/**
 * Limits the share of the main thread's time that work for other parties is allowed to take. Work for other parties has
 * two parts: the HTTP requests and event streams of strangers, and the requests of all peers. Strangers are clients
 * whose addresses are not `127.0.0.1`, not `::1` and not in `http.accessWhitelist`. All work for other parties shares
 * one budget. If HTTP and peers had separate budgets of one half each, no time would be left for blocks. Work waits
 * while the budget is used up. Work that cannot be postponed does not wait, but `spend` subtracts the time of this work
 * from the budget.
 */

/**
 * Share of the main thread's time that work for other parties is allowed to take. This work consists of answers to the
 * requests of peers, and of answers and events for strangers (HTTP clients that are neither on this machine nor in
 * `http.accessWhitelist`). The remaining time is for the import of blocks, for forging, for the HTTP requests of the
 * operator, and for other work of the node itself.
 */
const WORK_SHARE = 0.5;
/**
 * Maximum credit of the budget in milliseconds. The credit is the time that work for other parties (peers, and HTTP
 * clients that are strangers) is allowed to take now. The credit also grows while this work runs. With the default
 * share, work for other parties can therefore run for about 20 ms without a pause. This time is a small part of a slot,
 * because a slot takes at least 2 s.
 */
const WORK_BURST_MS = 10;
/**
 * The budget has a debt while its credit is negative. If the debt is at least this number of milliseconds, `spend`
 * subtracts nothing from the credit. Without this limit, a flood of work that cannot be postponed would cause a long
 * delay of the work that can be postponed.
 */
const OUTSIDE_DEBT_MS_MAX = 50;

export interface WorkShareOptions {
  readonly clock: {
    /** Current time in milliseconds, preferably from a monotonic clock. */
    nowMs(): number;
    after(delayMs: number, work: () => void): unknown;
  };
  /** Share of the main thread's time, a number above 0 and at most 1; `WORK_SHARE` by default. */
  readonly share?: number;
  /** Maximum credit of the budget in milliseconds; `WORK_BURST_MS` by default. */
  readonly burstMs?: number;
}

export class WorkShare {
  readonly #clock: WorkShareOptions['clock'];
  readonly #share: number;
  readonly #burstMs: number;
  /**
   * Callbacks that wait until the budget has time left. Each module that uses the budget has at most one waiting
   * callback.
   */
  readonly #waiting: (() => void)[] = [];
  /** Credit of the budget in milliseconds. After a long piece of work, the credit is negative (a debt). */
  #creditMs: number;
  #creditedMs: number;
  #isTimed = false;

  constructor({ clock, share = WORK_SHARE, burstMs = WORK_BURST_MS }: WorkShareOptions) {
    this.#clock = clock;
    this.#share = share;
    this.#burstMs = burstMs;
    this.#creditMs = burstMs;
    this.#creditedMs = clock.nowMs();
  }

  /** True if the budget has time left and no callback is waiting. */
  get isFree(): boolean {
    this.#credit();
    return this.#creditMs > 0 && this.#waiting.length === 0;
  }

  /**
   * Calls `work` when the budget has time left. Several waiting callbacks run in the order of the calls of `whenFree`.
   * The callback itself must measure the time of its work with `begin`, because `whenFree` subtracts nothing from the
   * budget.
   */
  whenFree(work: () => void): void {
    this.#waiting.push(work);
    this.#wakeLater();
  }

  /**
   * Starts to measure the time that a piece of work takes.
   *
   * @returns a function that the caller must call at the end of the work. The function subtracts the time since the
   *   call of `begin` from the budget
   */
  begin(): () => void {
    const startMs = this.#credit();
    return () => {
      // This line subtracts the full duration of the work. The next call of `#credit` adds the credit that the budget
      // gains during the work.
      this.#creditMs -= Math.max(0, this.#clock.nowMs() - startMs);
    };
  }

  /**
   * Subtracts from the budget the time of work that could not wait, such as reading bytes that a client sends.
   * Subtracts nothing if the debt is at least `OUTSIDE_DEBT_MS_MAX`.
   */
  spend(costMs: number): void {
    this.#credit();
    if (this.#creditMs > -OUTSIDE_DEBT_MS_MAX) this.#creditMs -= costMs;
  }

  #wakeLater(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#clock.after(Math.max(1, Math.ceil((1 - this.#creditMs) / this.#share)), () => {
      this.#isTimed = false;
      this.#credit();
      if (this.#creditMs > 0) this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#wakeLater();
    });
  }

  /**
   * Adds the credit for the time since the last call of this method.
   *
   * @returns the current time of the clock
   */
  #credit(): number {
    const nowMs = this.#clock.nowMs();
    const elapsedMs = Math.max(0, nowMs - this.#creditedMs);
    this.#creditMs = Math.min(this.#burstMs, this.#creditMs + elapsedMs * this.#share);
    this.#creditedMs = nowMs;
    return nowMs;
  }
}
