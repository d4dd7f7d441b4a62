/** The queues of a node's pool, from the last queue before a block (`ready`) to the first queue (`received`). */
export const POOL_STATES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

export type PoolStateName = (typeof POOL_STATES)[number];

/**
 * Queues in the order of a search, from the first queue to the last and back. During a search, a transaction usually
 * moves on to a later queue, so the search forwards finds it. A new block can move transactions back to an earlier
 * queue, so the search backwards finds those transactions.
 */
export const SEARCH_ORDER: readonly PoolStateName[] = [...POOL_STATES.toReversed(), ...POOL_STATES.slice(1)];

/** Text for each queue, which says what its transactions wait for. */
export const WAITS_FOR: Readonly<Record<PoolStateName, string>> = {
  ready: 'for a block',
  verified: 'for a block',
  pending: 'for signatures of its group',
  validated: 'to be verified against the state',
  received: 'to be checked',
};
