/** The mining modes of a devnet. */

export const MINING_MODES = ['interval', 'instant', 'on-demand'] as const;
/**
 * In the mode `interval`, the devnet forges a block in each slot, as other networks do. In the mode `instant`, it
 * forges when a transaction arrives. In the mode `on-demand`, it forges only when a user requests blocks.
 */
export type MiningMode = (typeof MINING_MODES)[number];

/** Maximum number of slots that one request mines. With this limit, one request takes minutes at most. */
export const MINED_SLOTS_MAX = 10_000;
