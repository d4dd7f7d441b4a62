/** All kinds of cases. Requests over HTTP are to be compared with a node of the reference and have their place here. */

import type { Generation } from '../../src/protocol/params.ts';
import { transactionTarget } from './target-transactions.ts';
import type { Target } from './target.ts';

export function targetsOf(generation: Generation): readonly Target[] {
  return [transactionTarget(generation)];
}
