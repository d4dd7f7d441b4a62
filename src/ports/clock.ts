/**
 * Defines interfaces for time and random numbers. Tests and simulations control time and random numbers by their own
 * implementations.
 */

export interface Clock {
  /** Unix time in milliseconds. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now (0 or more). */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/**
 * Clocks of the process and its machine that cannot be set. If the system clock and these clocks advance by different
 * amounts, somebody has set the system clock.
 */
export interface ProcessTimes {
  /** Milliseconds for which the machine has run, without the time of suspensions. */
  runMs(): number;
  /**
   * Milliseconds for which the machine has run, including the time of suspensions; undefined if the system has no such
   * clock.
   */
  bootMs(): number | undefined;
  /** Processor time of the process in milliseconds. */
  processorMs(): number;
}

export interface Random {
  bytes(count: number): Uint8Array;
  /** A uniformly distributed number in [0, 1). */
  fraction(): number;
  /** A uniformly distributed integer from 0 to `below` - 1. */
  below(below: number): number;
}
