/** Time and chance, handed in so that tests and simulations own them. */

export interface Clock {
  /** Unix time in milliseconds. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now (0 or more). */
  after(delayMs: number, work: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  bytes(count: number): Uint8Array;
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform integer in 0..below-1. */
  below(below: number): number;
}
