/**
 * Provides the machine's clock and random numbers. The code in `src/node` passes this clock and these random numbers to
 * the engine, the store and the adapters. Tests pass other clocks and random numbers.
 */

import { randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Clock, ProcessTimes, Random, Timer } from '../ports/clock.ts';

/** Longest delay that `setTimeout` accepts, in milliseconds. A timer with a longer delay would fire immediately. */
const DELAY_MS_MAX = 2_147_483_647;
/** Number of random bits in a fraction. A double represents each integer of 48 bits exactly. */
const FRACTION_BITS = 48;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs: number, work: () => void): Timer {
    const timer = setTimeout(work, Math.min(Math.max(delayMs, 0), DELAY_MS_MAX));
    return { cancel: () => clearTimeout(timer) };
  },
};

export const systemTimes: ProcessTimes = {
  runMs: () => performance.now(),
  bootMs: () => {
    try {
      // Seconds since the machine started, including the time for which the machine was suspended.
      const seconds = Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
      return Number.isFinite(seconds) ? seconds * 1000 : undefined;
    } catch {
      return undefined;
    }
  },
  processorMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

/** Resolves after the event loop has run the callbacks that are ready now. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  fraction: () => randomBytes(FRACTION_BITS / 8).readUIntBE(0, FRACTION_BITS / 8) / 2 ** FRACTION_BITS,
  below: (below) => randomInt(below),
};
