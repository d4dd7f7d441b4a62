import test from 'ava';
import { WatchedSlots } from '../../../src/engine/forge/watched-slots.ts';

const ROUND = 101;

/**
 * Calls `hear` for the slots directly before and after each given slot, as if the node got blocks of the network in
 * these slots.
 */
function hearAround(watched: WatchedSlots, ...slots: readonly number[]): void {
  for (const slot of slots) for (const heard of [slot - 1, slot + 1]) watched.hear(heard);
}

test('unused slots count if they are at least a round apart, each once', (t) => {
  const watched = new WatchedSlots(ROUND);
  const nothing = { count: 0, newest: Number.NEGATIVE_INFINITY };
  t.deepEqual(watched.count('a', false), nothing);
  const countAt = (slot: number, isCounted = true) => {
    watched.note('a', slot, isCounted);
    return watched.count('a', false);
  };
  t.deepEqual(countAt(1000), { count: 1, newest: 1000 });
  t.deepEqual(countAt(1000), { count: 1, newest: 1000 }, 'the same slot');
  t.deepEqual(countAt(1100), { count: 1, newest: 1100 }, 'less than a round later');
  t.deepEqual(countAt(1300), { count: 2, newest: 1300 });
  t.deepEqual(countAt(1390, false), { count: 2, newest: 1300 }, 'a slot in a hand-over');
  t.deepEqual(countAt(1390), { count: 2, newest: 1300 }, 'the hand-over has ended within the slot');
  t.deepEqual(countAt(1401), { count: 3, newest: 1401 });
  t.is(watched.lastCounted('a'), 1401);
  t.deepEqual(countAt(1603), { count: 1, newest: 1603 }, 'two rounds later');
  t.deepEqual(countAt(1500), { count: 1, newest: 1500 }, 'the clock was set back');
  watched.uncount('a', 1500);
  t.is(watched.lastCounted('a'), 1500);
  watched.uncount('a', 1501);
  t.deepEqual([watched.lastCounted('a'), watched.last('a')], [undefined, 1500]);
  t.deepEqual(watched.count('b', false), nothing);
  watched.uncount('b', 1501);
  t.is(watched.lastCounted('b'), undefined);
});

for (const [distance, near] of [
  [1, 2],
  [4, 4],
  [50, 50],
  [101, 101],
  [150, 101],
] as const)
  test(`an unused slot is heard if blocks came shortly before and after it (one in ${distance} slots)`, (t) => {
    for (const [before, after, isHeard] of [
      // With two rounds between the block before the unused slot and the block after it, `WatchedSlots` would ignore
      // the earlier block.
      [near, Math.min(near, ROUND - 1), true],
      [1, 1, true],
      [near + 1, near, false],
      [near, near + 1, false],
      [1, 0, false],
    ] as const) {
      const watched = new WatchedSlots(ROUND);
      const unused = 10_000;
      for (let count = 8; count >= 0; count -= 1) watched.hear(unused - before - count * distance);
      watched.note('a', unused, true);
      watched.note('b', 2 * unused, true);
      t.is(watched.firstHeard('a', 0), undefined, 'a later block is missing');
      watched.hear(unused + after);
      const found = [watched.firstHeard('a', unused - 1), watched.count('a', true).count];
      t.deepEqual(found, isHeard ? [unused, 1] : [undefined, 0], `${before} ${after}`);
      t.deepEqual([watched.firstHeard('a', unused), watched.firstHeard('b', 0)], [undefined, undefined]);
      t.is(watched.count('a', false).count, 1);
      t.is(watched.newestHeard, unused + after);
    }
  });

test('with fewer than four heard slots, only blocks at most two slots away count', (t) => {
  for (const [count, isHeard] of [
    [3, false],
    [4, true],
  ] as const) {
    const watched = new WatchedSlots(ROUND);
    for (let index = 0; index < count - 1; index += 1) watched.hear(100 - 3 * index);
    watched.note('a', 103, true);
    watched.hear(105);
    watched.note('b', 108, true);
    watched.hear(110);
    t.is(watched.firstHeard('b', 0), isHeard ? 108 : undefined, `${count}`);
  }
  const late = new WatchedSlots(ROUND);
  late.note('a', 10, true);
  for (const slot of [12, 8, 8, 10]) late.hear(slot);
  t.is(late.firstHeard('a', 0), 10, 'the earlier block came later');
});

test('a single long time without blocks does not change what is usual', (t) => {
  const watched = new WatchedSlots(ROUND);
  for (const slot of [990, 991, 992, 993, 994, 1040, 1041]) watched.hear(slot);
  watched.note('a', 1046, true);
  watched.hear(1047);
  t.is(watched.firstHeard('a', 0), undefined);
  watched.note('a', 1049, true);
  watched.hear(1051);
  t.is(watched.firstHeard('a', 0), 1049);
});

test('unused slots that are not heard do not let the count begin again, but a time without unused slots does', (t) => {
  const watched = new WatchedSlots(ROUND);
  const unused = [1001, 1150, 1301, 1503];
  const counts: unknown[] = [];
  for (let slot = 0; slot < 1600; slot += 1) {
    if (unused.includes(slot)) watched.note('a', slot, true);
    // The node hears nothing around slot 1150.
    if (slot % 20 === 0 && (slot < 1100 || slot > 1200)) watched.hear(slot);
    if (unused.includes(slot - 20)) counts.push(watched.count('a', true));
  }
  t.deepEqual(counts, [
    { count: 1, newest: 1001 },
    { count: 1, newest: 1001 },
    { count: 2, newest: 1301 },
    { count: 1, newest: 1503 },
  ]);
});

test('after two rounds of silence, the earlier slots do not count as heard', (t) => {
  for (const [silence, isHeard] of [
    [201, true],
    [202, false],
  ] as const) {
    const watched = new WatchedSlots(ROUND);
    watched.note('a', 1000, true);
    hearAround(watched, 1000);
    t.is(watched.firstHeard('a', 0), 1000);
    watched.hear(1001 + silence);
    t.is(watched.firstHeard('a', 0), isHeard ? 1000 : undefined);
    t.is(watched.count('a', false).count, 1, 'a delegate without a known block of another node');
  }
});

test('what is usual follows from the heard slots of a round, each once', (t) => {
  const watched = new WatchedSlots(ROUND);
  // Long ago, the network was slow. Since then, each of 101 consecutive slots had two blocks, on two branches.
  for (let slot = 0; slot < 1000; slot += 50) watched.hear(slot);
  for (let slot = 1000; slot < 1101; slot += 1) for (const _ of [1, 2]) watched.hear(slot);
  watched.note('a', 1104, true);
  watched.hear(1105);
  t.is(watched.firstHeard('a', 0), undefined);
  const slow = new WatchedSlots(ROUND);
  for (let slot = 0; slot <= 1000; slot += 10) for (let count = 0; count < 20; count += 1) slow.hear(slot);
  slow.note('a', 1010, true);
  slow.hear(1020);
  t.is(slow.firstHeard('a', 0), 1010, 'a slot that is heard many times counts once');
  // In each round, the first blocks are five slots apart, and the others follow each other directly.
  const mixed = new WatchedSlots(ROUND);
  for (let slot = 0; slot < 150; slot += 5) mixed.hear(slot);
  for (let slot = 150; slot < 220; slot += 1) mixed.hear(slot);
  mixed.note('a', 224, true);
  mixed.hear(229);
  t.is(mixed.firstHeard('a', 0), 224);
  // With rounds of 11 slots, `WatchedSlots` stores the newest 16 slots that `hear` was called with. Of the 15 distances
  // between two neighbouring slots, the 13 shortest distances count as usual. One of these 13 distances is 7 slots, so
  // a distance of 7 slots is usual.
  const small = new WatchedSlots(11);
  for (let slot = 0, index = 0; index < 16; index += 1) {
    small.hear(slot);
    slot += index < 3 ? 7 : 1;
  }
  const newest = small.newestHeard;
  small.note('a', newest + 7, true);
  small.hear(newest + 14);
  t.is(small.firstHeard('a', 0), newest + 7);
});

test('the unused slots of a delegate are found again, also if a slot is noted many times', (t) => {
  const watched = new WatchedSlots(ROUND);
  t.deepEqual([watched.last('a'), watched.firstHeard('a', 0)], [Number.NEGATIVE_INFINITY, undefined]);
  for (const slot of [5, 9, 9, 9]) watched.note('a', slot, true);
  t.is(watched.last('a'), 9);
  hearAround(watched, 5, 9);
  t.deepEqual([watched.firstHeard('a', 4), watched.firstHeard('a', 5), watched.firstHeard('a', 9)], [5, 9, undefined]);
  for (let slot = 100; slot < 200; slot += 1) watched.note('a', slot, true);
  for (let slot = 100; slot < 200; slot += 1) hearAround(watched, slot);
  t.is(watched.firstHeard('a', 0), 136, 'the newest ones are stored');
});

test('a block of another node makes the slots up to it count no more, and later ones stay', (t) => {
  const watched = new WatchedSlots(ROUND);
  for (const slot of [100, 250]) {
    watched.note('a', slot, true);
    hearAround(watched, slot);
  }
  watched.forgetUpTo('a', 99);
  t.is(watched.firstHeard('a', 0), 100);
  t.is(watched.count('a', true).count, 2);
  watched.forgetUpTo('a', 100);
  t.is(watched.firstHeard('a', 0), 250);
  t.is(watched.count('a', true).count, 1);
});

test('slots in the future are forgotten, others stay', (t) => {
  const watched = new WatchedSlots(ROUND);
  for (const [publicKey, slot] of [
    ['a', 5],
    ['a', 50],
    ['b', 50],
  ] as const) {
    watched.note(publicKey, slot, true);
    watched.noteRecall(publicKey, slot, 'id');
  }
  watched.note('c', 10, true);
  watched.hear(11);
  watched.noteRecall('c', 10, 'id');
  watched.forgetFuture(10);
  t.is(watched.newestHeard, Number.NEGATIVE_INFINITY);
  t.is(watched.last('a'), 5);
  t.is(watched.last('b'), Number.NEGATIVE_INFINITY);
  t.deepEqual(
    ['a', 'b', 'c'].map((publicKey) => watched.lastCounted(publicKey)),
    [5, undefined, 10],
  );
  t.deepEqual(
    ['a', 'b', 'c'].map((publicKey) => watched.hasRecalled(publicKey, 60, 'id')),
    [false, false, true],
  );
});

test('a watermark counts as unchanged if a slot before had the same one', (t) => {
  const watched = new WatchedSlots(ROUND);
  watched.noteRecall('a', 5, 'id');
  t.deepEqual(
    [watched.hasRecalled('a', 5, 'id'), watched.hasRecalled('a', 6, 'other'), watched.hasRecalled('a', 6, 'id')],
    [false, false, true],
  );
  watched.forgetUnused('a');
  t.true(watched.hasRecalled('a', 6, 'id'));
  watched.forget('a');
  t.false(watched.hasRecalled('a', 6, 'id'));
});
