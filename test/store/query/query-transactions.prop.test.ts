import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { TRANSACTION_SORTS, type TransactionQuery, type TransactionSort } from '../../../src/ports/queries.ts';
import type { TransactionFilters } from '../../../src/store/query/transaction-filters.ts';
import type { Block, Transaction } from '../../../src/protocol/types.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, withStore } from '../backends.ts';
import { fakeId } from '../../support/fake-codec.ts';
import {
  address,
  build,
  direction,
  like,
  page,
  isSameByCursor,
  person,
  request,
  seconds,
  size,
  some,
  type World,
} from '../model.ts';
import { Dice } from '../world.ts';

/** By hand, beside the store's own table of orders. */
const SORTED_BY: Readonly<Record<TransactionSort, (transaction: Transaction) => bigint | number>> = {
  amount: ({ payload }) => ('amount' in payload ? payload.amount : 0n),
  fee: ({ fee }) => fee,
  type: ({ type }) => type,
  timestamp: ({ timestamp }) => timestamp,
};

/** Each filter but those by id, which are asked for apart: a new one has to be drawn too. */
const filters = some({
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

function fitsTransaction(query: TransactionQuery, world: World, transaction: Transaction, block: Block): boolean {
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

for (const backend of BACKENDS) {
  const worlds = backend === 'memory' ? 25 : 8;

  test(`${backend}: pages of transactions agree with filtering, sorting and cutting a plain list`, async (t) => {
    const query = fc.record({
      ...request,
      filters,
      sort: fc.record({ field: fc.constantFrom(...TRANSACTION_SORTS), direction }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(query, { minLength: 20, maxLength: 20 }),
        size,
        async (seed, queries, given) => {
          const { shortListMax, ...limits } = given;
          await withStore(
            backend,
            async (store) => {
              const world = build(store, new Dice(seed), 20);
              const all = world.blocks.flatMap((block) =>
                block.transactions.map((transaction, index) => ({
                  transaction,
                  block,
                  order: block.height * 100 + index,
                })),
              );
              const chain = createQueries(store, paramsWith(), limits);
              t.is(chain.transactionCount(), all.length);
              const some = all[seed % (all.length + 1)];
              const identities = some === undefined ? [] : [{ id: some.transaction.id }, { blockId: some.block.id }];
              const asked = queries.flatMap(({ filters: wanted, ...rest }) => [{ ...wanted, ...rest }]);
              const first = asked[0];
              if (first !== undefined) {
                for (const identity of [...identities, { id: fakeId('unknown') }, { blockId: 'x' }]) {
                  asked.push({ ...first, ...identity });
                }
              }
              for (const wanted of asked as TransactionQuery[]) {
                const { field } = wanted.sort;
                const expected = page(
                  all.filter(({ transaction, block }) => fitsTransaction(wanted, world, transaction, block)),
                  ({ transaction }) => SORTED_BY[field](transaction),
                  wanted.sort.direction,
                  (a, b) => a.order - b.order,
                  wanted,
                );
                const answer = await chain.transactions(wanted);
                t.deepEqual(
                  answer.items.map(({ transaction, blockId, height }) => ({ transaction, blockId, height })),
                  expected.items.map(({ transaction, block }) => ({
                    transaction,
                    blockId: block.id,
                    height: block.height,
                  })),
                );
                t.is(answer.total, expected.total);
                t.true(
                  await isSameByCursor(
                    wanted,
                    (request) => chain.transactions({ ...wanted, ...request }),
                    ({ transaction }) => transaction.id,
                  ),
                );
              }
            },
            { shortListMax },
          );
        },
      ),
      { numRuns: worlds },
    );
  });
}
