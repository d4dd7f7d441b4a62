/**
 * Updates the queues of the pool after a change of the chain. Transactions that the pool must verify again go back to
 * earlier queues.
 */

import { recipientOf } from '../../protocol/tx/recipient.ts';
import type { PoolState } from '../../ports/node-api.ts';
import type { Address, Block, Transaction } from '../../protocol/types.ts';
import { groupOf, type PoolContext } from './checks.ts';
import type { PoolQueues } from './queues.ts';

/**
 * For each queue except `received`, the queue to which a transaction moves if the pool must verify it again. The row
 * for `validated` must be first. Otherwise, a transaction that another row has moved to `validated` would immediately
 * move on to `received`.
 */
const DEMOTIONS: readonly (readonly [from: PoolState, to: PoolState])[] = [
  ['validated', 'received'],
  ['verified', 'validated'],
  ['pending', 'validated'],
  ['ready', 'validated'],
];

/**
 * Removes the transactions that the blocks confirmed. If the sender of a confirmed transaction has other transactions
 * in the pool, the function moves these transactions back to earlier queues, so that the pool verifies them again. If a
 * confirmed transaction has unique data, such as a delegate name, the function also moves back all transactions of the
 * same type, because they may contain the same data.
 */
export function demoteAfterApply({ rules }: PoolContext, queues: PoolQueues, blocks: readonly Block[]): void {
  const senders = new Set<Address>();
  const uniqueTypes = new Set<number>();
  for (const transaction of blocks.flatMap(({ transactions }) => transactions)) {
    queues.remove(transaction.id);
    senders.add(transaction.senderId);
    if (rules.hasUniqueData(transaction)) uniqueTypes.add(transaction.type);
  }
  if (senders.size === 0) return;
  demote(queues, ({ senderId, type }) => senders.has(senderId) || uniqueTypes.has(type));
}

/**
 * Puts the transactions of reverted blocks into the queue `verified`, beginning with the highest block, until all
 * queues together are full. The recipient of a reverted transaction loses the amount of the transaction, and
 * transactions that the recipient sends may spend this amount. The function therefore moves the transactions whose
 * sender is such a recipient back to earlier queues, so that the pool verifies them again. The pool does not announce
 * the reverted transactions, because the engine announces them after each revert.
 *
 * @param blocks reverted blocks in any order
 */
export function demoteAfterRevert(context: PoolContext, queues: PoolQueues, blocks: readonly Block[]): void {
  for (const { transactions } of [...blocks].sort((a, b) => b.height - a.height)) {
    const recipients = new Set(transactions.flatMap((transaction) => recipientOf(transaction) ?? []));
    if (recipients.size > 0) demote(queues, ({ senderId }) => recipients.has(senderId));
    for (const transaction of [...transactions].reverse()) {
      const receivedAtMs = context.clock.nowMs();
      const group = groupOf(context, transaction);
      queues.addBeyondLimit('verified', { transaction, receivedAtMs, group, announced: true });
    }
  }
}

function demote(queues: PoolQueues, isAffected: (transaction: Transaction) => boolean): void {
  for (const [from, to] of DEMOTIONS) {
    for (const pooled of queues.list(from)) if (isAffected(pooled.transaction)) queues.move(pooled, to);
  }
}
