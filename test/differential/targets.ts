/** All targets that need no real node. The targets in `http/target-http.ts` need a real node. */

import type { ReferencePackage } from './reference.ts';
import type { Handlers } from './reference-node.ts';
import { blockTarget, sequenceTarget } from './target-blocks.ts';
import { headerTarget } from './target-headers.ts';
import { signatureTarget } from './target-signatures.ts';
import { olderTransactionTarget, transactionTarget } from './target-transactions.ts';
import type { Target } from './target.ts';

/** The reference (lisk-sdk): its transaction classes, and its functions that check and apply blocks. */
export interface Reference {
  readonly package: ReferencePackage;
  readonly handlers: Handlers;
}

export function targetsOf({ package: reference, handlers }: Reference): readonly Target[] {
  return [
    transactionTarget(reference),
    blockTarget(reference, handlers),
    sequenceTarget(reference, handlers),
    signatureTarget(reference, handlers),
    headerTarget(reference, handlers),
    ...(reference.generation === 2 ? [olderTransactionTarget(reference)] : []),
  ];
}
