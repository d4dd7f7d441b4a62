/** Signature checks: at once, or many in parallel. */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** The implementation of the checks, for logs and status. */
  readonly backend: 'sodium' | 'noble';
  /**
   * Cost of the checks of `verify` so far, in milliseconds of a core: the time that a check takes with this back end on an ordinary
   * machine, for each that memory did not answer. Not measured, so that a busy machine charges nobody more.
   */
  readonly spentMs: number;
  /** Answers one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Answers many, in order; may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
