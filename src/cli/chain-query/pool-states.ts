/** The queues of a node's pool, from the last queue before a block (`ready`) to the first queue (`received`). */
export const POOL_STATES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

export type PoolStateName = (typeof POOL_STATES)[number];

/**
 * The order in which to search the queues. A transaction that moves on between two requests moves into a queue that is
 * searched later, so the search does not miss the transaction.
 */
export const SEARCH_ORDER: readonly PoolStateName[] = POOL_STATES.toReversed();

/** Text for each queue: the event for which its transactions wait. */
export const WAITS_FOR: Readonly<Record<PoolStateName, string>> = {
  ready: 'for a block',
  verified: 'for a block',
  pending: 'for signatures of its group',
  validated: 'to be verified against the state',
  received: 'to be checked',
};
