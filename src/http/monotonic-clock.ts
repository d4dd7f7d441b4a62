/**
 * A clock that never goes back. If somebody sets the machine's clock, the time limits that use this monotonic clock do
 * not change.
 */

import { performance } from 'node:perf_hooks';
import type { Timer } from '../ports/clock.ts';

export interface MonotonicClock {
  /** Milliseconds since an arbitrary moment; the value never decreases. */
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
