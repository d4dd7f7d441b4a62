/** The mining modes of a devnet. */

export const MINING_MODES = ['interval', 'instant', 'on-demand'] as const;
/**
 * In the mode `interval`, the nodes of a devnet forge a block in each slot, like the nodes of any other network. In the
 * mode `instant`, the nodes forge when a transaction arrives. In the mode `on-demand`, the nodes forge only when a user
 * requests blocks.
 */
export type MiningMode = (typeof MINING_MODES)[number];

/** Maximum number of slots that one request mines. With this limit, one request takes minutes at most. */
export const MINED_SLOTS_MAX = 10_000;
