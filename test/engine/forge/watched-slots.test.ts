import test from 'ava';
import { WatchedSlots } from '../../../src/engine/forge/watched-slots.ts';

const ROUND = 101;

test('unused slots count if they are at least a round apart, each once', (t) => {
  const watched = new WatchedSlots();
  t.is(watched.afterHandOver('a'), undefined);
  const countAt = (slot: number) => {
    watched.noteAfterHandOver('a', slot, ROUND);
    return watched.afterHandOver('a');
  };
  t.deepEqual(countAt(1000), { first: 1000, last: 1000, lastCounted: 1000, count: 1 });
  t.deepEqual(countAt(1000), { first: 1000, last: 1000, lastCounted: 1000, count: 1 }, 'the same slot');
  t.deepEqual(countAt(1100), { first: 1000, last: 1100, lastCounted: 1000, count: 1 }, 'less than a round later');
  t.deepEqual(countAt(1300), { first: 1000, last: 1300, lastCounted: 1300, count: 2 });
  t.deepEqual(countAt(1401), { first: 1000, last: 1401, lastCounted: 1401, count: 3 });
  t.deepEqual(countAt(1603), { first: 1603, last: 1603, lastCounted: 1603, count: 1 }, 'two rounds later');
  t.deepEqual(countAt(1500), { first: 1500, last: 1500, lastCounted: 1500, count: 1 }, 'the clock was set back');
  t.is(watched.afterHandOver('b'), undefined);
});

test('the unused slots of a delegate are found again, also if a slot is noted many times', (t) => {
  const watched = new WatchedSlots();
  t.deepEqual([watched.last('a'), watched.firstBetween('a', 0, 9)], [Number.NEGATIVE_INFINITY, undefined]);
  for (const slot of [5, 9, 9, 9]) watched.note('a', slot);
  t.is(watched.last('a'), 9);
  t.deepEqual(
    [
      watched.firstBetween('a', 4, 9),
      watched.firstBetween('a', 4, 5),
      watched.firstBetween('a', 5, 9),
      watched.firstBetween('a', 5, 10),
    ],
    [5, undefined, undefined, 9],
  );
  for (let slot = 100; slot < 200; slot += 1) watched.note('a', slot);
  t.is(watched.firstBetween('a', 0, 1000), 196, 'the newest ones are stored');
});

test('a block of another node makes the slots up to it count no more, and later ones stay', (t) => {
  const watched = new WatchedSlots();
  for (const slot of [100, 250]) {
    watched.note('a', slot);
    watched.noteAfterHandOver('a', slot, ROUND);
  }
  watched.forgetUpTo('a', 99);
  t.is(watched.firstBetween('a', 0, 1000), 100);
  t.is(watched.afterHandOver('a')?.count, 2);
  watched.forgetUpTo('a', 100);
  t.is(watched.firstBetween('a', 0, 1000), 250);
  t.is(watched.afterHandOver('a'), undefined);
});

test('slots in the future are forgotten, others stay', (t) => {
  const watched = new WatchedSlots();
  for (const [publicKey, slot] of [
    ['a', 5],
    ['a', 50],
    ['b', 50],
  ] as const) {
    watched.note(publicKey, slot);
    watched.noteAfterHandOver(publicKey, slot, ROUND);
    watched.noteRecall(publicKey, slot, 'id');
  }
  watched.noteAfterHandOver('c', 10, ROUND);
  watched.noteRecall('c', 10, 'id');
  watched.forgetFuture(10);
  t.is(watched.last('a'), 5);
  t.is(watched.last('b'), Number.NEGATIVE_INFINITY);
  t.deepEqual(
    ['a', 'b', 'c'].map((publicKey) => watched.afterHandOver(publicKey)?.last),
    [undefined, undefined, 10],
  );
  t.deepEqual(
    ['a', 'b', 'c'].map((publicKey) => watched.hasRecalled(publicKey, 60, 'id')),
    [false, false, true],
  );
});

test('a watermark counts as unchanged if a slot before had the same one', (t) => {
  const watched = new WatchedSlots();
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
