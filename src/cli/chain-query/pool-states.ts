/** The queues of a node's pool, from the last queue before a block (`ready`) to the first queue (`received`). */
export const POOL_STATES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

export type PoolStateName = (typeof POOL_STATES)[number];

const FROM_FIRST = POOL_STATES.toReversed();
/**
 * Queues in the order of a search: twice from the first queue to the last. A transaction usually moves on to a later
 * queue, so one pass finds it. A new block can move the transaction back to an earlier queue behind the search. The
 * second pass finds such a transaction.
 */
export const SEARCH_ORDER: readonly PoolStateName[] = [...FROM_FIRST, ...FROM_FIRST];

/** Text for each queue, which says what its transactions wait for. */
export const WAITS_FOR: Readonly<Record<PoolStateName, string>> = {
  ready: 'for a block',
  verified: 'for a block',
  pending: 'for signatures of its group',
  validated: 'to be verified against the state',
  received: 'to be checked',
};
