/** How long the rounds of a node's network are, as its constants tell. */

import { ACTIVE_DELEGATES } from '../protocol/params.ts';

/** Of `node/constants`, which name the number only where it is not the usual one. */
export interface RoundConstants {
  readonly activeDelegates?: number;
}

export function activeDelegatesOf({ activeDelegates = ACTIVE_DELEGATES }: RoundConstants): number {
  return activeDelegates;
}
