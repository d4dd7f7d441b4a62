/** The mining modes of a devnet. */

export const MINING_MODES = ['interval', 'instant', 'on-demand'] as const;
/**
 * `interval`: a block in each slot, as on other networks. `instant`: a block when a transaction arrives. `on-demand`: a
 * block only when a user requests it.
 */
export type MiningMode = (typeof MINING_MODES)[number];

/** Maximum number of slots that one request mines. With this limit, one request takes minutes at most. */
export const MINED_SLOTS_MAX = 10_000;
