/**
 * Whether a network stands still. Slots pass unused on every network, on some more than on others, so the blocks of late say
 * how many in a row would be no chance any more: few where all delegates take part, many where half of them are off.
 */

export interface BlockState {
  readonly height: number;
  /** Whole seconds since the epoch. */
  readonly timestamp: number;
}

/** The tip, and a block some way below it; undefined while the chain has none. */
export interface RecentBlocks {
  readonly tip: BlockState | undefined;
  readonly earlier: BlockState | undefined;
}

/** Blocks that say how often slots pass unused: a round. */
const COMPARED_BLOCKS = 101;
/** As many slots in a row pass unused by chance as do so once in ten thousand times. */
const CHANCE = 1e-4;
/** However regular a network is: one who forges late, and two beside one another who are off, are no standstill. */
const UNUSED_SLOTS_MIN = 3;
/** However irregular it is. */
const UNUSED_SLOTS_MAX = 10;
/** The genesis block has no slot of its own. */
const FIRST_FORGED_HEIGHT = 2;

/**
 * Age of the tip when that is too old for chance.
 *
 * @param now what the node said last: with another height than the tip's, blocks are coming
 * @returns whole seconds; undefined for a network that goes on
 */
export function standstillS(
  { tip, earlier }: RecentBlocks,
  now: { readonly height: number; readonly secondsSinceEpoch: number },
  blockTimeS: number,
): number | undefined {
  if (tip === undefined || tip.height !== now.height) return undefined;
  const slotOf = (timeS: number): number => Math.floor(timeS / blockTimeS);
  // The present slot may still be used.
  const unused = slotOf(now.secondsSinceEpoch) - slotOf(tip.timestamp) - 1;
  return unused < unusedSlotsMin(tip, earlier, blockTimeS) ? undefined : now.secondsSinceEpoch - tip.timestamp;
}

/** Height of the block that is compared with the tip. */
export function earlierHeight(tipHeight: number): number {
  return Math.max(FIRST_FORGED_HEIGHT, tipHeight - COMPARED_BLOCKS);
}

/** Unused slots in a row that are no chance any more. */
export function unusedSlotsMin(tip: BlockState, earlier: BlockState | undefined, blockTimeS: number): number {
  const from = earlier ?? tip;
  const slots = Math.round((tip.timestamp - from.timestamp) / blockTimeS);
  const unused = slots - (tip.height - from.height);
  // One more of either kind than were seen: a few blocks without a gap promise little.
  const share = (unused + 1) / (slots + 2);
  const slotsMin = Math.ceil(Math.log(CHANCE) / Math.log(share));
  return Math.min(UNUSED_SLOTS_MAX, Math.max(UNUSED_SLOTS_MIN, slotsMin));
}
