/**
 * Lists the queues of the transaction pool, from the last queue (`ready`) back to the first queue (`received`). For
 * each queue, a function of this file says what its transactions wait for.
 */

export const POOL_STATES = ['ready', 'verified', 'pending', 'validated', 'received'] as const;

export type PoolState = (typeof POOL_STATES)[number];

/**
 * Returns what a transaction in a queue waits for, as the end of the sentence "It waits for ...".
 *
 * @param signatures number of signatures that the transaction has from members of its multisignature account
 * @param min number of these members' signatures that the transaction needs, if known
 */
export function waitsFor(state: PoolState, signatures: number, min?: number): string {
  switch (state) {
    case 'ready':
    case 'verified':
      return 'the next block with room';
    case 'pending':
      return `signatures of its group, has ${signatures}${min === undefined ? '' : ` of ${min}`}`;
    case 'validated':
      return 'a check against the accounts';
    case 'received':
      return 'a check of its signature';
  }
}
