/** The queues of a node's pool, in the order in which `bloomery pool` lists their transactions. */
export const POOL_STATES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

export type PoolStateName = (typeof POOL_STATES)[number];

const FROM_FIRST = POOL_STATES.toReversed();
/**
 * Queues in the order of a search: twice from `received` to `ready`. A transaction usually moves towards `ready`, so
 * one pass usually finds the transaction. Sometimes the transaction moves to a queue that this pass has already read,
 * for example after a new block. The second pass finds such a transaction.
 */
export const SEARCH_ORDER: readonly PoolStateName[] = [...FROM_FIRST, ...FROM_FIRST];

/** For each queue, a text that says what the transactions in this queue wait for. */
export const WAITS_FOR: Readonly<Record<PoolStateName, string>> = {
  ready: 'for a block',
  verified: 'for a block',
  pending: 'for signatures of its group',
  validated: 'to be verified against the state',
  received: 'to be checked',
};
