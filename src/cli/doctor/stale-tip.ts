/**
 * Detects a stale tip. A tip is stale if the network has had no new block for a longer time than chance explains. Slots
 * stay empty on every network, but more often on some networks than on others. Therefore `unusedSlotsMin` computes a
 * limit from the recent blocks: how many empty slots in a row make a tip stale. The limit is low when all delegates
 * forge, and high when half of the delegates do not forge.
 */

export interface BlockState {
  readonly height: number;
  /** Time of the block, in whole seconds since the epoch of the network. */
  readonly timestamp: number;
}

/** The tip, and the block at `earlierHeight`. Each is undefined if the node returned no such block. */
export interface RecentBlocks {
  readonly tip: BlockState | undefined;
  readonly earlier: BlockState | undefined;
}

/**
 * Number of recent blocks from which the doctor computes how often slots stay empty: one round of a public network. On
 * a shorter chain, the doctor uses all blocks after the genesis block.
 */
const COMPARED_BLOCKS = 101;
/**
 * If the probability of a series of empty slots is below this value (one in ten thousand), the doctor does not regard
 * the series as chance.
 */
const CHANCE = 1e-4;
/**
 * Lower bound of the limit for empty slots. The lower bound applies to networks where slots hardly ever stay empty. A
 * smaller number of empty slots proves nothing: it is possible that the next forger is late, or that two neighbouring
 * forgers are absent.
 */
const UNUSED_SLOTS_MIN = 3;
/** Upper bound of the limit for empty slots. The upper bound applies to networks where slots often stay empty. */
const UNUSED_SLOTS_MAX = 10;
/** Height of the first block that was forged in a slot. The genesis block has height 1 and no slot. */
const FIRST_FORGED_HEIGHT = 2;

/**
 * Returns the age of the tip if the tip is stale.
 *
 * @param now last status of the node. If the height in this status differs from the height of `tip`, the chain has
 *   changed since the doctor read `tip`. In this case, the tip is not stale
 * @returns age in whole seconds; undefined if the tip is not stale
 */
export function staleTipS(
  { tip, earlier }: RecentBlocks,
  now: { readonly height: number; readonly secondsSinceEpoch: number },
  blockTimeS: number,
): number | undefined {
  if (tip === undefined || tip.height !== now.height) return undefined;
  const slotOf = (timeS: number): number => Math.floor(timeS / blockTimeS);
  // The present slot does not count, because its block can still arrive.
  const unused = slotOf(now.secondsSinceEpoch) - slotOf(tip.timestamp) - 1;
  return unused < unusedSlotsMin(tip, earlier, blockTimeS) ? undefined : now.secondsSinceEpoch - tip.timestamp;
}

/** Returns the height of the earlier block with which `staleTipS` compares the tip. */
export function earlierHeight(tipHeight: number): number {
  return Math.max(FIRST_FORGED_HEIGHT, tipHeight - COMPARED_BLOCKS);
}

/** Returns how many empty slots in a row after the tip make the tip stale. */
export function unusedSlotsMin(tip: BlockState, earlier: BlockState | undefined, blockTimeS: number): number {
  const from = earlier ?? tip;
  const slots = Math.round((tip.timestamp - from.timestamp) / blockTimeS);
  const unused = slots - (tip.height - from.height);
  // Adds one empty slot and one slot with a block to the observed slots. Without these two slots, the share of empty
  // slots could be 0 or 1, and the formula below does not work for these two values.
  const share = (unused + 1) / (slots + 2);
  const slotsMin = Math.ceil(Math.log(CHANCE) / Math.log(share));
  return Math.min(UNUSED_SLOTS_MAX, Math.max(UNUSED_SLOTS_MIN, slotsMin));
}
