/**
 * Work for strangers takes turns: all of it together gets a stated share of the time of the main thread, and while more is
 * asked for than that, each address waits behind its own requests only. While there is time, work is done at once.
 */

import type { MonotonicClock } from '../monotonic-clock.ts';

type Work = () => void;

export interface TurnsOptions {
  readonly clock: MonotonicClock;
  /** Share of the time, above 0 and at most 1. */
  readonly share: number;
  /** Work in a row before others get a turn, in milliseconds. */
  readonly burstMs: number;
}

export class Turns {
  readonly #options: TurnsOptions;
  /** Work that waits, by address; the next address is the first one. */
  readonly #waiting = new Map<string, Work[]>();
  /** Time that may be worked now; below zero after work that took long. */
  #creditMs: number;
  #creditedMs: number;
  #isServing = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#creditMs = options.burstMs;
    this.#creditedMs = options.clock.nowMs();
  }

  /** Does the work now, or when its address has its turn. How much waits is bounded by the connections that bring it. */
  take(address: string, work: Work): void {
    const nowMs = this.#credit();
    if (this.#creditMs > 0 && this.#waiting.size === 0 && !this.#isServing) {
      work();
      // Work that is put off until the end of this turn of the event loop is charged, too.
      void settled().then(() => this.#charge(nowMs));
      return;
    }
    const queue = this.#waiting.get(address);
    if (queue === undefined) this.#waiting.set(address, [work]);
    else queue.push(work);
    if (!this.#isServing) this.#serveLater();
  }

  #serveLater(): void {
    this.#isServing = true;
    const { clock, share } = this.#options;
    clock.after(Math.max(1, Math.ceil((1 - this.#creditMs) / share)), () => void this.#serve());
  }

  async #serve(): Promise<void> {
    for (let work = this.#next(); work !== undefined; work = this.#next()) {
      const startMs = this.#credit();
      work();
      await settled();
      this.#charge(startMs);
      if (this.#creditMs > 0) continue;
      if (this.#waiting.size > 0) return this.#serveLater();
    }
    this.#isServing = false;
  }

  #next(): Work | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [address, queue] = first;
    const work = queue.shift();
    this.#waiting.delete(address);
    if (queue.length > 0) this.#waiting.set(address, queue);
    return work;
  }

  /** @returns now */
  #credit(): number {
    const { clock, share, burstMs } = this.#options;
    const nowMs = clock.nowMs();
    this.#creditMs = Math.min(burstMs, this.#creditMs + (nowMs - this.#creditedMs) * share);
    this.#creditedMs = nowMs;
    return nowMs;
  }

  #charge(startMs: number): void {
    // The credit of the time that was worked comes with the next look at the clock.
    this.#creditMs -= this.#options.clock.nowMs() - startMs;
  }
}

/** Resolves after what follows at once from work that was just done: a few promises deep. */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 4;
