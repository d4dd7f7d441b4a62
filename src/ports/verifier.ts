/**
 * Defines the interface of the module that checks signatures: one signature on the calling thread, or many signatures
 * on several threads.
 */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** Name of the library that makes the checks; the node writes this name to the log. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Estimated processor time of all checks on the calling thread so far, in milliseconds. Each check adds a constant:
   * the mean time of a check with the library `backend` on a certain server (`CHECK_MS`). A check whose result is in
   * the cache of the verifier adds nothing. If the verifier measured the real time instead, the node would charge peers
   * more while the machine is busy.
   */
  readonly spentMs: number;
  /** Makes one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Makes many checks, and returns their results in the same order. The verifier may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
