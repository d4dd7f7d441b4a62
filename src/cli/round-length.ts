/** Length of the rounds of a node's network, from its constants. */

import { ACTIVE_DELEGATES } from '../protocol/params.ts';

/**
 * Members of `node/constants` that concern rounds. `activeDelegates` is present only if it differs from
 * `ACTIVE_DELEGATES`.
 */
export interface RoundConstants {
  readonly activeDelegates?: number;
}

export function activeDelegatesOf({ activeDelegates = ACTIVE_DELEGATES }: RoundConstants): number {
  return activeDelegates;
}
