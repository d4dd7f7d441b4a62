/** Checks signatures: a single one on the calling thread, or many in parallel. */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** The library that makes the checks, for logs and status pages. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Cost of all checks by `verify` so far, in milliseconds of one core. Each check whose result was not in the cache
   * adds the time that this library takes on an ordinary machine. The real time is not measured. If the real time
   * counted, peers would be charged more while the machine is busy.
   */
  readonly spentMs: number;
  /** Makes one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Makes many checks, and returns their results in the same order. The verifier may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
