/** The reasons why a delegate does not sign (`double-forging-guard.ts`). */

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
