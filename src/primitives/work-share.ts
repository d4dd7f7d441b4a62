/**
 * Time of the main thread that all work for strangers may take together: requests over HTTP, streams of events, questions of
 * peers. One budget for all of them, as two halves would leave nothing for the blocks. Where more is asked for, those who do
 * the work wait in line.
 */

/** Share of the time: blocks, forging and the operator have the rest. */
const WORK_SHARE = 0.5;
/** Work in a row, in milliseconds; a small part of the shortest slot. */
const WORK_BURST_MS = 10;
/** Work that cannot be put off makes no larger debt, or a flood of it would outlast itself. */
const OUTSIDE_DEBT_MS_MAX = 50;

export interface WorkShareOptions {
  readonly clock: {
    /** Milliseconds; best by a clock that nobody sets. */
    nowMs(): number;
    after(delayMs: number, work: () => void): unknown;
  };
  /** Above 0 and at most 1; `WORK_SHARE` unless told. */
  readonly share?: number;
  /** `WORK_BURST_MS` unless told. */
  readonly burstMs?: number;
}

export class WorkShare {
  readonly #clock: WorkShareOptions['clock'];
  readonly #share: number;
  readonly #burstMs: number;
  /** Those who wait for time. Each part of the node waits once at most. */
  readonly #waiting: (() => void)[] = [];
  /** Time that may be worked now; below zero after work that took long. */
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

  /** Whether there is time, and nobody waits for it. */
  get isFree(): boolean {
    this.#credit();
    return this.#creditMs > 0 && this.#waiting.length === 0;
  }

  /** Calls back when there is time; those who asked first come first. They charge what they do. */
  whenFree(work: () => void): void {
    this.#waiting.push(work);
    this.#wakeLater();
  }

  /** Work begins. @returns charges the time since then */
  begin(): () => void {
    const startMs = this.#credit();
    return () => {
      // The credit of the time that was worked comes with the next look at the clock.
      this.#creditMs -= Math.max(0, this.#clock.nowMs() - startMs);
    };
  }

  /** Charges what could not be put off. */
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

  /** @returns now */
  #credit(): number {
    const nowMs = this.#clock.nowMs();
    const elapsedMs = Math.max(0, nowMs - this.#creditedMs);
    this.#creditMs = Math.min(this.#burstMs, this.#creditMs + elapsedMs * this.#share);
    this.#creditedMs = nowMs;
    return nowMs;
  }
}
