/** When blocks of a devnet come, and how many at a time. */

export const MINING_MODES = ['interval', 'instant', 'on-demand'] as const;
/**
 * `interval`: a block in each slot, as on any network. `instant`: a block when a transaction comes. `on-demand`: a block when
 * one is asked for.
 */
export type MiningMode = (typeof MINING_MODES)[number];

/** As many slots as one request mines at most: that takes minutes. */
export const MINED_SLOTS_MAX = 10_000;
