/** Number of blocks in a round, from the answer of a node to the HTTP request `node/constants`. */

import { ACTIVE_DELEGATES } from '../protocol/params.ts';

/**
 * Members of the answer to `node/constants` that concern rounds. `activeDelegates` is present only if it differs from
 * `ACTIVE_DELEGATES`.
 */
export interface RoundConstants {
  readonly activeDelegates?: number;
}

export function activeDelegatesOf({ activeDelegates = ACTIVE_DELEGATES }: RoundConstants): number {
  return activeDelegates;
}
