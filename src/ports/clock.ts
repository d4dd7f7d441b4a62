/**
 * Defines interfaces for time and random numbers. Tests and simulations control time and random numbers by their own
 * implementations.
 */

export interface Clock {
  /** Unix time in milliseconds. */
  nowMs(): number;
  /** Runs `work` once, after `delayMs` milliseconds (0 or more). */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/**
 * Clocks of the machine and of the process. Nobody can set these clocks, but users can set the system clock. Over the
 * same time, `bootMs` and the system clock must advance by the same amount. If the amounts differ, somebody has set the
 * system clock.
 */
export interface ProcessTimes {
  /**
   * Milliseconds since a fixed moment, for example the start of the process. The clock stands still while the machine
   * is suspended.
   */
  runMs(): number;
  /**
   * Milliseconds since the start of the machine, including the time of suspensions; undefined if the system does not
   * have this clock.
   */
  bootMs(): number | undefined;
  /** Processor time in milliseconds that the process has used. */
  processorMs(): number;
}

export interface Random {
  bytes(count: number): Uint8Array;
  /** A uniformly distributed number in [0, 1). */
  fraction(): number;
  /** A uniformly distributed integer from 0 to `below` - 1. */
  below(below: number): number;
}
