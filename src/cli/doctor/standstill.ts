/**
 * Decides whether a network stands still. Slots stay empty on every network, more on some than on others. So the recent
 * blocks decide how many empty slots in a row are too many for chance: few when all delegates forge, many when half of
 * them do not.
 */

export interface BlockState {
  readonly height: number;
  /** Whole seconds since the epoch. */
  readonly timestamp: number;
}

/** The tip and an earlier block; undefined while the chain does not have them. */
export interface RecentBlocks {
  readonly tip: BlockState | undefined;
  readonly earlier: BlockState | undefined;
}

/** Number of recent blocks that show how often slots stay empty: a round. */
const COMPARED_BLOCKS = 101;
/** Probability below which a series of empty slots does not count as chance: once in ten thousand. */
const CHANCE = 1e-4;
/** Minimum for very regular networks: a late forger, or two neighbouring absent delegates, are no standstill. */
const UNUSED_SLOTS_MIN = 3;
/** Maximum for very irregular networks. */
const UNUSED_SLOTS_MAX = 10;
/** The genesis block has no slot of its own. */
const FIRST_FORGED_HEIGHT = 2;

/**
 * Age of the tip, when the network stands still.
 *
 * @param now last status of the node; if its height differs from the tip's, blocks are coming
 * @returns age in whole seconds; undefined when the network does not stand still
 */
export function standstillS(
  { tip, earlier }: RecentBlocks,
  now: { readonly height: number; readonly secondsSinceEpoch: number },
  blockTimeS: number,
): number | undefined {
  if (tip === undefined || tip.height !== now.height) return undefined;
  const slotOf = (timeS: number): number => Math.floor(timeS / blockTimeS);
  // The present slot may still get its block.
  const unused = slotOf(now.secondsSinceEpoch) - slotOf(tip.timestamp) - 1;
  return unused < unusedSlotsMin(tip, earlier, blockTimeS) ? undefined : now.secondsSinceEpoch - tip.timestamp;
}

/** Height of the block that is compared with the tip. */
export function earlierHeight(tipHeight: number): number {
  return Math.max(FIRST_FORGED_HEIGHT, tipHeight - COMPARED_BLOCKS);
}

/** Number of empty slots in a row that cannot be chance any more. */
export function unusedSlotsMin(tip: BlockState, earlier: BlockState | undefined, blockTimeS: number): number {
  const from = earlier ?? tip;
  const slots = Math.round((tip.timestamp - from.timestamp) / blockTimeS);
  const unused = slots - (tip.height - from.height);
  // One more empty and one more used slot than observed, because a few blocks without a gap prove little.
  const share = (unused + 1) / (slots + 2);
  const slotsMin = Math.ceil(Math.log(CHANCE) / Math.log(share));
  return Math.min(UNUSED_SLOTS_MAX, Math.max(UNUSED_SLOTS_MIN, slotsMin));
}
