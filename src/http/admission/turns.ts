/**
 * Work for strangers takes turns: all of it together gets a stated share of the time of the main thread, and while more is
 * asked for than that, each address waits behind its own requests only. While there is time, work is done at once.
 */

import type { MonotonicClock } from '../monotonic-clock.ts';
import { AcceptPriority } from './accept-priority.ts';

type Work = () => void;

interface Turn {
  readonly work: Work;
  /** Begins to read what the work needs. */
  readonly read: Work | undefined;
}

export interface TurnsOptions {
  readonly clock: MonotonicClock;
  /** Share of the time, above 0 and at most 1. */
  readonly share: number;
  /** Work in a row before others get a turn, in milliseconds. */
  readonly burstMs: number;
}

/** Turns that wait from which on there is no time for courtesies. */
const PRESSED_FROM = 16;
/** What is done outside of turns makes no larger debt, or a flood of it would outlast itself. */
const OUTSIDE_DEBT_MS_MAX = 50;

export class Turns {
  readonly #options: TurnsOptions;
  readonly #accepting: AcceptPriority;
  /** Work that waits, by address; the next address is the first one. */
  readonly #waiting = new Map<string, Turn[]>();
  #waitingCount = 0;
  /** Time that may be worked now; below zero after work that took long. */
  #creditMs: number;
  #creditedMs: number;
  #isServing = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#accepting = new AcceptPriority(options.clock);
    this.#creditMs = options.burstMs;
    this.#creditedMs = options.clock.nowMs();
  }

  /** Whether more is asked for than there is time. */
  get isPressed(): boolean {
    return this.#waitingCount >= PRESSED_FROM;
  }

  /** A connection was accepted. Others that wait behind it come before all work. */
  accepted(): void {
    this.#accepting.accepted();
  }

  /** Charges what was done for a stranger outside of a turn. */
  spend(costMs: number): void {
    this.#credit();
    if (this.#creditMs > -OUTSIDE_DEBT_MS_MAX) this.#creditMs -= costMs;
  }

  /**
   * Does the work now, or when its address has its turn. How much waits is bounded by the connections that bring it.
   *
   * @param read begins to read what the work needs; the work follows after the event loop has looked once for what is there
   */
  take(address: string, work: Work, read?: Work): void {
    this.#credit();
    const turn = { work, read };
    const isFree = this.#creditMs > 0 && this.#waiting.size === 0 && !this.#isServing;
    if (isFree && !this.#accepting.isBusy) return void this.#do(turn);
    const queue = this.#waiting.get(address);
    if (queue === undefined) this.#waiting.set(address, [turn]);
    else queue.push(turn);
    this.#waitingCount += 1;
    if (this.#isServing) return;
    this.#isServing = true;
    if (isFree) void this.#serve();
    else this.#serveLater();
  }

  #serveLater(): void {
    const { clock, share } = this.#options;
    clock.after(Math.max(1, Math.ceil((1 - this.#creditMs) / share)), () => void this.#serve());
  }

  async #serve(): Promise<void> {
    for (;;) {
      await this.#accepting.over();
      const turn = this.#next();
      if (turn === undefined) break;
      await this.#do(turn);
      if (this.#creditMs <= 0 && this.#waiting.size > 0) return this.#serveLater();
    }
    this.#isServing = false;
  }

  async #do({ work, read }: Turn): Promise<void> {
    if (read !== undefined) {
      read();
      await polled();
    }
    const startMs = this.#credit();
    work();
    // Work that is put off until the end of this turn of the event loop is charged, too.
    await settled();
    this.#charge(startMs);
  }

  #next(): Turn | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [address, queue] = first;
    const turn = queue.shift();
    this.#waitingCount -= 1;
    this.#waiting.delete(address);
    if (queue.length > 0) this.#waiting.set(address, queue);
    return turn;
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

/** Resolves when the event loop has looked for what there is to read. */
function polled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after what follows at once from work that was just done: a few promises deep. */
async function settled(): Promise<void> {
  for (let depth = 0; depth < SETTLING_DEPTH; depth += 1) await Promise.resolve();
}

const SETTLING_DEPTH = 4;
