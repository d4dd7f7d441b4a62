/** The reasons why a delegate does not sign (`double-forging-guard.ts`). */

import type { ForgingWait } from '../../ports/node-api.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { momentMs } from '../../protocol/slots.ts';

/** The reason why a delegate does not sign yet. */
export interface Waiting {
  readonly code:
    | 'FORGING_MOVED'
    | 'FORGING_LATER_SLOT'
    | 'FORGING_OLD_TIP'
    | 'FORGING_ELSEWHERE'
    | 'FORGING_WAITS_FOR_EMPTY_SLOT'
    | 'FORGING_HAND_OVER';
  readonly reason: string;
  /** Expected end of the wait, in whole seconds of chain time; absent if the node cannot compute the end. */
  readonly untilS?: number;
}

/**
 * The wait while `ForeignBlocks` still searches the chain. A slot that the delegate leaves unused during this wait
 * does not count for `WatchedSlots.count`, because perhaps the search finds a block of another node.
 */
export const SEARCHING: Waiting = {
  code: 'FORGING_WAITS_FOR_EMPTY_SLOT',
  reason: 'this node still searches the chain for blocks that the delegate signed on another node',
};

/**
 * Returns the wait as the node reports it. If the expected end of the wait has passed, the result has no `untilMs`,
 * because the actual end is unknown.
 *
 * @param nowMs the present Unix time in milliseconds
 */
export function forgingWaitOf({ code, reason, untilS }: Waiting, nowMs: number, params: ChainParams): ForgingWait {
  const untilMs = untilS === undefined ? 0 : momentMs(untilS, params);
  return { code, reason, ...(untilMs > nowMs ? { untilMs } : {}) };
}
