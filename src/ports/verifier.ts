/**
 * Defines the interface that checks signatures: one signature on the calling thread, or many signatures in parallel.
 */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** Name of the library that makes the checks; the node writes this name to the log. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Estimated cost of all checks on the calling thread so far, in milliseconds of one core. A check whose result the
   * verifier does not remember adds a fixed time: the time that `backend` takes for a check on an ordinary machine
   * (`CHECK_MS`). The verifier does not measure the real time, because peers would then be charged more while the
   * machine is busy.
   */
  readonly spentMs: number;
  /** Makes one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Makes many checks, and returns their results in the same order. The verifier may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
