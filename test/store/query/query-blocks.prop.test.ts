import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import type { BlockQuery } from '../../../src/ports/queries.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, withStore } from '../backends.ts';
import { eachWorld } from '../made-worlds.ts';
import { build, direction, page, isSameByCursor, person, request, seconds, some } from '../model.ts';
import { Dice, PEOPLE } from '../world.ts';

const filters = some({
  height: fc.integer({ min: 0, max: 20 }),
  fromTimestampS: seconds,
  toTimestampS: seconds,
  generatorPublicKey: person,
});

for (const backend of BACKENDS) {
  test(`${backend}: pages of blocks and sums of forging agree with a plain list`, async (t) => {
    const query = fc.record({
      ...request,
      filters,
      sort: fc.record({ field: fc.constantFrom('height', 'totalAmount', 'totalFee', 'timestamp'), direction }),
    });
    await eachWorld(backend, query, async ({ blocks }, chain, queries) => {
      const headers = blocks.map(({ transactions: _transactions, ...header }) => header);
      t.deepEqual(chain.latestHeaders(7), headers.slice(-7).reverse());
      t.deepEqual(chain.tip(), headers.at(-1));
      t.deepEqual(chain.blockByHeight(2), blocks[1]);
      for (const { filters: given, ...rest } of queries) {
        const wanted = { ...given, ...rest } as BlockQuery;
        const { height, fromTimestampS, toTimestampS, generatorPublicKey, sort } = wanted;
        const fitting = headers.filter((header) =>
          [
            height === undefined || header.height === height,
            fromTimestampS === undefined || header.timestamp >= fromTimestampS,
            toTimestampS === undefined || header.timestamp <= toTimestampS,
            generatorPublicKey === undefined || header.generatorPublicKey === generatorPublicKey,
          ].every(Boolean),
        );
        const sign = sort.direction === 'asc' ? 1 : -1;
        const byHeight = (a: { height: number }, b: { height: number }): number => sign * (a.height - b.height);
        const { next: _next, ...answer } = await chain.blocks(wanted);
        t.deepEqual(
          answer,
          page(fitting, (header) => header[sort.field], sort.direction, byHeight, wanted),
        );
        t.true(
          await isSameByCursor(
            wanted,
            (request) => chain.blocks({ ...wanted, ...request }),
            ({ id }) => id,
          ),
        );
        const generator = generatorPublicKey ?? PEOPLE[0] ?? '';
        const [from, to] = [fromTimestampS ?? 0, toTimestampS ?? 200];
        const forged = headers.filter(
          (header) => header.generatorPublicKey === generator && header.timestamp >= from && header.timestamp <= to,
        );
        t.deepEqual(chain.blockForgingStatistics(generator, from, to), {
          feesBeddows: forged.reduce((sum, { totalFee }) => sum + totalFee, 0n),
          rewardsBeddows: forged.reduce((sum, { reward }) => sum + reward, 0n),
          blocks: forged.length,
        });
      }
      const tip = headers.at(-1);
      t.deepEqual(
        await chain.blocks({
          blockId: tip?.id ?? '',
          limit: 1,
          offset: 0,
          sort: { field: 'height', direction: 'asc' },
        }),
        { items: tip === undefined ? [] : [tip], total: 1 },
      );
    });
  });

  test(`${backend}: a round pays a delegate for each of its blocks in the round`, async (t) => {
    await withStore(backend, async (store) => {
      const { blocks } = build(store, new Dice(5), 20);
      const params = paramsWith({ generation: 2, activeDelegates: 5 });
      const chain = createQueries(store, params);
      const finished = blocks.slice(0, blocks.length - (blocks.length % 5));
      for (const generator of PEOPLE) {
        const { blocks: payments } = await chain.roundForgingStatistics(generator, -1, 2 ** 31);
        t.is(payments, finished.filter(({ generatorPublicKey }) => generatorPublicKey === generator).length);
      }
      const places = finished.map(({ height, generatorPublicKey }) => `${Math.ceil(height / 5)} ${generatorPublicKey}`);
      t.true(new Set(places).size < places.length, 'somebody forged twice in a round');
    });
  });
}
