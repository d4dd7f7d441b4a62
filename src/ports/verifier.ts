/** Checks signatures: one at once, or many in parallel. */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** The library that makes the checks, for logs and status. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Cost of all checks of `verify` so far, in milliseconds of a core. Each check that the cache did not answer counts with the
   * time that this back end takes on an ordinary machine. The time is not measured, so that peers are not charged more when the
   * machine is busy.
   */
  readonly spentMs: number;
  /** Makes one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Makes many checks, and returns their results in the same order. The verifier may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
