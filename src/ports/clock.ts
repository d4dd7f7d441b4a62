/**
 * Defines interfaces for time and random numbers. Tests and simulations have their own implementations of these
 * interfaces, and so control time and random numbers.
 */

export interface Clock {
  /** The present time of this clock as Unix time in milliseconds. */
  nowMs(): number;
  /** Runs `work` once, after `delayMs` milliseconds (0 or more). The returned timer can cancel the run. */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/**
 * Clocks of the machine and of the process. Nobody can set these clocks. The system clock is a different clock, which
 * users can set. If nobody sets the system clock, it advances by the same amount as `bootMs`. A difference therefore
 * shows that somebody has set the system clock.
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
