/**
 * Defines the interface of the module that checks signatures. The module checks one signature on the calling thread, or
 * many signatures on several threads.
 */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** Name of the library that makes the checks; the node writes this name to the log. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Estimated processor time in milliseconds that all checks on the calling thread have taken so far. Each check adds
   * the constant `CHECK_MS` for the library `backend`. The constant is the mean time of a check with this library on a
   * server with a 2.5 GHz processor. A check whose result is in the cache of the verifier adds nothing. If the verifier
   * measured the real time instead, the same check would use up more of a peer's verification budget while the machine
   * is busy.
   */
  readonly spentMs: number;
  /** Makes one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Makes many checks, and returns their results in the same order. The verifier can use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
