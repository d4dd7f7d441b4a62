import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { TRANSACTION_SORTS, type TransactionQuery } from '../../../src/ports/queries.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, withStore } from '../backends.ts';
import { fakeId } from '../../support/fake-codec.ts';
import { build, direction, isSameByCursor, page, request, size } from '../model.ts';
import { filters, fitsTransaction, SORTED_BY } from './plain-transactions.ts';
import { Dice } from '../world.ts';

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
