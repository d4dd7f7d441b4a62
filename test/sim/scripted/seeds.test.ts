/**
 * Runs a few seeds of the simulator (`npm run sim`), each for a short time. The worlds have faults. At the end of each
 * world, all honest nodes must agree on one chain.
 */

import test from 'ava';

import { runSeed } from '../run.ts';

for (const seed of [1, 2, 3, 6, 7, 8]) {
  test(`seed ${seed} violates no invariant`, async (t) => {
    const { failure } = await runSeed({ seed, nodes: 4, hours: 0.7, store: 'memory' });
    t.is(failure?.message, undefined);
  });
}

test('a simulated network of generation 2 violates none of its invariants', async (t) => {
  const { failure, finalized } = await runSeed({ seed: 2, nodes: 4, hours: 0.5, store: 'memory', generation: 2 });
  t.is(failure?.message, undefined);
  t.is(finalized, 0);
});

test('the same seed gives the same simulation, and another seed a different one', async (t) => {
  const [first, again, other] = [
    await runSeed({ seed: 11, nodes: 3, hours: 0.3, store: 'memory' }),
    await runSeed({ seed: 11, nodes: 3, hours: 0.3, store: 'memory' }),
    await runSeed({ seed: 12, nodes: 3, hours: 0.3, store: 'memory' }),
  ];
  t.is(first.digest, again.digest);
  t.is(first.events, again.events);
  t.not(first.digest, other.digest);
});

test('a simulation on LMDB equals one in memory', async (t) => {
  const memory = await runSeed({ seed: 5, nodes: 3, hours: 0.15, store: 'memory' });
  const lmdb = await runSeed({ seed: 5, nodes: 3, hours: 0.15, store: 'lmdb' });
  t.is(lmdb.failure?.message, undefined);
  t.is(lmdb.digest, memory.digest);
});
