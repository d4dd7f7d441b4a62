/** Makes random stores and queries, so that a test can compare the answers of a store with answers from plain lists. */

import { fc } from '../support/fast-check.ts';

import type { ChainQueries } from '../../src/ports/queries.ts';
import { createQueries } from '../../src/store/query/queries.ts';
import { paramsWith } from '../support/fixtures.ts';
import { type Backend, withStore } from './backends.ts';
import { build, size, type World } from './model.ts';
import { Dice } from './world.ts';

/**
 * Runs `compare` on several worlds. A world is a random store together with its chain as a plain list. Each run gets
 * twenty random queries. The number of worlds is higher for stores in memory, because these stores are faster.
 */
export async function eachWorld<Q>(
  backend: Backend,
  query: fc.Arbitrary<Q>,
  compare: (world: World, chain: ChainQueries, queries: readonly Q[]) => Promise<void>,
): Promise<void> {
  const queryLists = fc.array(query, { minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(fc.nat(), queryLists, size, async (seed, queries, limits) => {
      await withStore(backend, async (store) => {
        const world = build(store, new Dice(seed), 20);
        await compare(world, createQueries(store, paramsWith(), limits), queries);
      });
    }),
    { numRuns: backend === 'memory' ? 25 : 8 },
  );
}
