/** The members about rounds and slots in a node's answer to the HTTP request `node/constants`. */

import { ACTIVE_DELEGATES } from '../protocol/params.ts';

/** `activeDelegates` is present only if it differs from `ACTIVE_DELEGATES`. */
export interface RoundConstants {
  readonly activeDelegates?: number;
}

/**
 * The members with which a command computes the start time of a slot. The shape `slotConstants` checks these members.
 */
export interface SlotConstants extends RoundConstants {
  /** Start of slot 0, ISO 8601. */
  readonly epoch: string;
  /** Length of a slot in seconds. */
  readonly blockTime: number;
}

/** Number of delegates in a round. A round has the same number of blocks. */
export function activeDelegatesOf({ activeDelegates = ACTIVE_DELEGATES }: RoundConstants): number {
  return activeDelegates;
}
