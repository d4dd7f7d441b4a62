/** Time and random numbers, given from outside so that tests and simulations control them. */

export interface Clock {
  /** Unix time in milliseconds. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now (0 or more). */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Times of the process and its machine that nobody can set. A difference between them and the clock shows that it was set. */
export interface ProcessTimes {
  /** Milliseconds that go on while the machine runs, and stand still while it is suspended. */
  runMs(): number;
  /** The same with the time in which the machine was suspended; undefined where the system does not tell. */
  bootMs(): number | undefined;
  /** Time that the process has had on processors, in milliseconds. */
  processorMs(): number;
}

export interface Random {
  bytes(count: number): Uint8Array;
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform integer in 0..below-1. */
  below(below: number): number;
}
