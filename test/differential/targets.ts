/** All kinds of cases. Requests over HTTP are to be compared with a node of the reference and have their place here. */

import type { Generation } from '../../src/protocol/params.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { blockTarget } from './target-blocks.ts';
import { signatureTarget } from './target-signatures.ts';
import { transactionTarget } from './target-transactions.ts';
import type { Target } from './target.ts';

export function targetsOf(generation: Generation): readonly Target[] {
  const double = doubleOf(referencePackage(generation));
  return [
    transactionTarget(generation),
    blockTarget(generation, double, 'blocks'),
    signatureTarget(generation, double),
  ];
}
