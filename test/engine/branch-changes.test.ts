import test from 'ava';
import { BranchChanges } from '../../src/engine/branch-changes.ts';

function blocks(...heights: readonly number[]): readonly { readonly height: number }[] {
  return heights.map((height) => ({ height }));
}

function createBranchChanges(): BranchChanges {
  let nowMs = 0;
  return new BranchChanges({ nowMs: () => (nowMs += 1000) });
}

test('each reorg is recorded with its common height and its number of reverted blocks, newest first', (t) => {
  const changes = createBranchChanges();
  t.is(changes.count, 0);
  changes.record(blocks(12, 11));
  changes.record(blocks(14));
  t.is(changes.count, 2);
  t.deepEqual(changes.latest, [
    { timeMs: 2000, commonHeight: 13, revertedBlocks: 1 },
    { timeMs: 1000, commonHeight: 10, revertedBlocks: 2 },
  ]);
});

test('zero reverted blocks are not a reorg', (t) => {
  const changes = createBranchChanges();
  changes.record([]);
  t.is(changes.count, 0);
  t.deepEqual(changes.latest, []);
});

test('all reorgs are counted, and only the latest twenty are kept', (t) => {
  const changes = createBranchChanges();
  for (let height = 2; height < 52; height++) changes.record(blocks(height));
  t.is(changes.count, 50);
  t.is(changes.latest.length, 20);
  t.is(changes.latest[0]?.commonHeight, 50);
  t.is(changes.latest[19]?.commonHeight, 31);
});

test('a branch of any length can be reverted', (t) => {
  const changes = createBranchChanges();
  const heights = Array.from({ length: 200_000 }, (_, index) => 200_002 - index);
  changes.record(heights.map((height) => ({ height })));
  t.like(changes.latest[0], { commonHeight: 2, revertedBlocks: 200_000 });
});
