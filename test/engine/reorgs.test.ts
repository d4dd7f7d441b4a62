import test from 'ava';
import { Reorgs } from '../../src/engine/reorgs.ts';

function blocks(...heights: readonly number[]): readonly { readonly height: number }[] {
  return heights.map((height) => ({ height }));
}

function createReorgs(): Reorgs {
  let nowMs = 0;
  return new Reorgs({ nowMs: () => (nowMs += 1000) });
}

test('each reorg is recorded with its common height and its number of reverted blocks, newest first', (t) => {
  const reorgs = createReorgs();
  t.is(reorgs.count, 0);
  reorgs.record(blocks(12, 11));
  reorgs.record(blocks(14));
  t.is(reorgs.count, 2);
  t.deepEqual(reorgs.latest, [
    { timeMs: 2000, commonHeight: 13, revertedBlocks: 1 },
    { timeMs: 1000, commonHeight: 10, revertedBlocks: 2 },
  ]);
});

test('zero reverted blocks are not a reorg', (t) => {
  const reorgs = createReorgs();
  reorgs.record([]);
  t.is(reorgs.count, 0);
  t.deepEqual(reorgs.latest, []);
});

test('all reorgs are counted, and only the latest twenty are kept', (t) => {
  const reorgs = createReorgs();
  for (let height = 2; height < 52; height++) reorgs.record(blocks(height));
  t.is(reorgs.count, 50);
  t.is(reorgs.latest.length, 20);
  t.is(reorgs.latest[0]?.commonHeight, 50);
  t.is(reorgs.latest[19]?.commonHeight, 31);
});

test('a branch of any length can be reverted', (t) => {
  const reorgs = createReorgs();
  const heights = Array.from({ length: 200_000 }, (_, index) => 200_002 - index);
  reorgs.record(heights.map((height) => ({ height })));
  t.like(reorgs.latest[0], { commonHeight: 2, revertedBlocks: 200_000 });
});
