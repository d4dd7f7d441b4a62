/** Time that only goes forward: limits must neither freeze nor burst when somebody sets the clock of the machine. */

import { performance } from 'node:perf_hooks';
import type { Timer } from '../ports/clock.ts';

export interface MonotonicClock {
  /** Milliseconds since some moment, never fewer than before. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now. A timer that waits does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
}

export const MONOTONIC_CLOCK: MonotonicClock = {
  nowMs: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
