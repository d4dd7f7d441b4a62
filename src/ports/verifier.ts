/** Signature checks: at once, or many in parallel. */

import type { SignatureCheck } from '../protocol/types.ts';

export interface Verifier {
  /** Which implementation answers, for logs and status. */
  readonly backend: 'sodium' | 'noble';
  /** Answers one check on the calling thread. */
  verify(check: SignatureCheck): boolean;
  /** Answers many, in order; may use other threads. */
  verifyAll(checks: readonly SignatureCheck[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}
