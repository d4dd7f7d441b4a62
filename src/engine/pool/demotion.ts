/**
 * Updates the queues of the pool after a change of the chain. Transactions that the pool must verify again go back to
 * earlier queues.
 */

import { recipientOf } from '../../protocol/tx/recipient.ts';
import type { PoolState } from '../../ports/node-api.ts';
import type { Address, Block, Transaction } from '../../protocol/types.ts';
import { groupOf, type PoolContext } from './checks.ts';
import type { Pooled, PoolQueues } from './queues.ts';

/**
 * For each queue except `received`, the queue to which a transaction moves if the pool must verify it again. The row
 * for `validated` must be first. If another row came before this row, a transaction that the other row has moved to
 * `validated` would immediately move on to `received`.
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
 * same type, because these transactions can contain the same data.
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
 * queues together are full. The recipient of a reverted transaction loses the amount of the transaction. It is possible
 * that the recipient's own transactions in the pool spend this amount. The function therefore moves these transactions
 * back to earlier queues, so that the pool verifies them again. The pool does not announce the reverted transactions,
 * because the engine announces these transactions after each revert.
 *
 * @param blocks reverted blocks in any order
 */
export function demoteAfterRevert(context: PoolContext, queues: PoolQueues, blocks: readonly Block[]): void {
  const reverted = [...blocks]
    .sort((a, b) => b.height - a.height)
    .map(({ transactions }) => ({
      transactions,
      recipients: new Set(transactions.flatMap((transaction) => recipientOf(transaction) ?? [])),
    }));
  const spenders = new Spenders(queues, new Set(reverted.flatMap(({ recipients }) => [...recipients])));
  for (const { transactions, recipients } of reverted) {
    spenders.demote(recipients);
    for (const transaction of [...transactions].reverse()) {
      // Most transactions of a long reorg do not fit into the queues. For a transaction that does not fit, the function
      // leaves out the check of the members' signatures.
      if (queues.areAllFull) break;
      if (queues.has(transaction.id)) continue;
      const receivedAtMs = context.clock.nowMs();
      const pooled = { transaction, receivedAtMs, group: groupOf(context, transaction), announced: true };
      if (queues.addBeyondLimit('verified', pooled)) spenders.add(pooled, 'verified');
    }
  }
}

function demote(queues: PoolQueues, isAffected: (transaction: Transaction) => boolean): void {
  for (const [from, to] of DEMOTIONS) {
    for (const pooled of queues.list(from)) if (isAffected(pooled.transaction)) queues.move(pooled, to);
  }
}

interface Spending {
  readonly pooled: Pooled;
  readonly state: PoolState;
  /**
   * A number that is higher for each later entry into a queue. The numbers give the order of the transactions in each
   * queue.
   */
  readonly place: number;
}

/**
 * An index of the transactions of given senders in all queues except `received`. A reorg can revert thousands of
 * blocks, and the revert of each block can move transactions. The constructor reads all queues once to build the index.
 * Without the index, the pool would have to read all queues for each block.
 */
class Spenders {
  readonly #queues: PoolQueues;
  readonly #bySender: ReadonlyMap<Address, Spending[]>;
  #places = 0;

  constructor(queues: PoolQueues, senders: ReadonlySet<Address>) {
    this.#queues = queues;
    this.#bySender = new Map(Array.from(senders, (sender) => [sender, []]));
    if (senders.size === 0) return;
    for (const [from] of DEMOTIONS) for (const pooled of queues.list(from)) this.add(pooled, from);
  }

  /** Adds a transaction that has just entered a queue to the index, if the transaction is from one of the senders. */
  add(pooled: Pooled, state: PoolState): void {
    if (state === 'received') return;
    const place = this.#places;
    this.#places += 1;
    this.#bySender.get(pooled.transaction.senderId)?.push({ pooled, state, place });
  }

  /**
   * Moves all indexed transactions of the given senders back to earlier queues (`DEMOTIONS`), so that the pool verifies
   * these transactions again.
   */
  demote(senders: ReadonlySet<Address>): void {
    const found = [...senders].flatMap((sender) => this.#bySender.get(sender)?.splice(0) ?? []);
    found.sort((a, b) => a.place - b.place);
    for (const [from, to] of DEMOTIONS) {
      for (const { pooled, state } of found) {
        if (state !== from) continue;
        this.#queues.move(pooled, to);
        this.add(pooled, to);
      }
    }
  }
}
