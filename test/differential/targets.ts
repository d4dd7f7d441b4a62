/** All kinds of cases that need no real node. Requests over HTTP need one: they are in `http/target-http.ts`. */

import type { ReferencePackage } from './reference.ts';
import type { Handlers } from './reference-node.ts';
import { blockTarget, sequenceTarget } from './target-blocks.ts';
import { headerTarget } from './target-headers.ts';
import { signatureTarget } from './target-signatures.ts';
import { olderTransactionTarget, transactionTarget } from './target-transactions.ts';
import type { Target } from './target.ts';

/** The reference: its classes of transactions, and what its node does with those of a block. */
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
