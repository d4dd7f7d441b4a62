/**
 * Filters and sort values for queries of transactions, written independently of the store. The module also draws random
 * filters.
 */

import { fc } from '../../support/fast-check.ts';

import type { TransactionQuery, TransactionSort } from '../../../src/ports/queries.ts';
import type { Block, Transaction } from '../../../src/protocol/types.ts';
import type { TransactionFilters } from '../../../src/store/query/transaction-filters.ts';
import { address, like, person, seconds, some, type World } from '../model.ts';

/** For each sort field: the value by which a query sorts transactions. */
export const SORTED_BY: Readonly<Record<TransactionSort, (transaction: Transaction) => bigint | number>> = {
  amount: ({ payload }) => ('amount' in payload ? payload.amount : 0n),
  fee: ({ fee }) => fee,
  type: ({ type }) => type,
  timestamp: ({ timestamp }) => timestamp,
};

/**
 * All filters except `id` and `blockId`, which `query-transactions.prop.test.ts` adds to some queries. The `satisfies`
 * clause requires an entry for each new filter.
 */
export const filters = some({
  height: fc.integer({ min: 0, max: 20 }),
  type: fc.constantFrom(8, 9, 10, 11, 99_999),
  senderId: address,
  recipientId: address,
  senderIdOrRecipientId: address,
  senderPublicKey: fc.oneof(
    person,
    person.map((key) => key.toUpperCase()),
  ),
  recipientPublicKey: person,
  minAmount: fc.constantFrom(0n, 1n, 3n, 1n << 70n),
  maxAmount: fc.constantFrom(0n, 2n, 4n, 1n << 71n),
  fromTimestampS: fc.oneof(seconds, fc.constant(999_999_999_999)),
  toTimestampS: fc.oneof(seconds, fc.constant(999_999_999_999)),
  dataPattern: fc.constantFrom('rent', 'rent%', '%e%', '_ent', 'gr__e', 'gr____e', '%', 'nothing'),
} satisfies Readonly<Record<Exclude<keyof TransactionFilters, 'id' | 'blockId'>, fc.Arbitrary<unknown>>>);

export function fitsTransaction(
  query: TransactionQuery,
  world: Pick<World, 'accounts'>,
  transaction: Transaction,
  block: Block,
): boolean {
  const { payload } = transaction;
  const amount = 'amount' in payload ? payload.amount : 0n;
  const recipientId = 'recipientId' in payload ? payload.recipientId : undefined;
  const party = (senderId: string | undefined, recipient: string | undefined): boolean =>
    (senderId === undefined || transaction.senderId === senderId) &&
    (recipient === undefined || recipientId === recipient);
  const either = query.senderIdOrRecipientId;
  const recipientKey = world.accounts.find((account) => account.address === recipientId)?.publicKey;
  return [
    either === undefined
      ? party(query.senderId, query.recipientId)
      : party(either, query.recipientId) || party(query.senderId, either),
    query.id === undefined || transaction.id === query.id,
    query.blockId === undefined || block.id === query.blockId,
    query.height === undefined || block.height === query.height,
    query.type === undefined || transaction.type === query.type,
    query.senderPublicKey === undefined || transaction.senderPublicKey === query.senderPublicKey.toLowerCase(),
    query.recipientPublicKey === undefined || recipientKey === query.recipientPublicKey,
    query.minAmount === undefined || amount >= query.minAmount,
    query.maxAmount === undefined || amount <= query.maxAmount,
    query.fromTimestampS === undefined || transaction.timestamp >= query.fromTimestampS,
    query.toTimestampS === undefined || transaction.timestamp <= query.toTimestampS,
    query.dataPattern === undefined ||
      (payload.kind === 'transfer' && payload.data !== undefined && like(query.dataPattern, Buffer.from(payload.data))),
  ].every(Boolean);
}
