/** A clock that never goes back. If the machine's clock is set, limits that use this clock neither stop nor restart. */

import { performance } from 'node:perf_hooks';
import type { Timer } from '../ports/clock.ts';

export interface MonotonicClock {
  /** Milliseconds since some moment; the value never decreases. */
  nowMs(): number;
  /** Runs `work` once after `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
}

export const MONOTONIC_CLOCK: MonotonicClock = {
  nowMs: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
