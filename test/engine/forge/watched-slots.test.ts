import test from 'ava';
import { WatchedSlots } from '../../../src/engine/forge/watched-slots.ts';

const ROUND = 101;

/** Marks all slots as heard. */
function hearAround(watched: WatchedSlots, ...slots: readonly number[]): void {
  for (const slot of slots) for (const heard of [slot - 1, slot + 1]) watched.hear(heard);
}

test('unused slots count if they are at least a round apart, each once', (t) => {
  const watched = new WatchedSlots(ROUND);
  const nothing = { count: 0, last: Number.NEGATIVE_INFINITY };
  t.deepEqual(watched.count('a', false), nothing);
  const countAt = (slot: number, isCounted = true) => {
    watched.note('a', slot, isCounted);
    return watched.count('a', false);
  };
  t.deepEqual(countAt(1000), { count: 1, last: 1000 });
  t.deepEqual(countAt(1000), { count: 1, last: 1000 }, 'the same slot');
  t.deepEqual(countAt(1100), { count: 1, last: 1100 }, 'less than a round later');
  t.deepEqual(countAt(1300), { count: 2, last: 1300 });
  t.deepEqual(countAt(1390, false), { count: 2, last: 1300 }, 'a slot in a hand-over');
  t.deepEqual(countAt(1390), { count: 2, last: 1300 }, 'the hand-over has ended within the slot');
  t.deepEqual(countAt(1401), { count: 3, last: 1401 });
  t.is(watched.lastCounted('a'), 1401);
  t.deepEqual(countAt(1603), { count: 1, last: 1603 }, 'two rounds later');
  t.deepEqual(countAt(1500), { count: 1, last: 1500 }, 'the clock was set back');
  watched.uncount('a', 1500);
  t.is(watched.lastCounted('a'), 1500);
  watched.uncount('a', 1501);
  t.deepEqual([watched.lastCounted('a'), watched.last('a')], [undefined, 1500]);
  t.deepEqual(watched.count('b', false), nothing);
  watched.uncount('b', 1501);
  t.is(watched.lastCounted('b'), undefined);
});

test('an unused slot is heard if blocks came at most half a round before and after it', (t) => {
  for (const [before, after, isHeard] of [
    [950, 1050, true],
    [999, 1001, true],
    [949, 1050, false],
    [950, 1051, false],
    [1000, 1001, false],
    [999, 1000, false],
  ] as const)
    for (const isEarlyKnown of [true, false]) {
      const watched = new WatchedSlots(ROUND);
      if (isEarlyKnown) watched.hear(before);
      watched.note('a', 1000, true);
      watched.note('b', 5000, true);
      watched.hear(after);
      // The blocks come late, for example in a download.
      if (!isEarlyKnown) watched.hear(before);
      const found = [watched.firstHeard('a', 999), watched.count('a', true).count, watched.count('a', false).count];
      t.deepEqual(found, isHeard ? [1000, 1, 1] : [undefined, 0, 1], `${before} ${after}`);
      t.is(watched.firstHeard('b', 0), undefined);
      t.is(watched.newestHeard, Math.max(before, after));
    }
});

test('in a small network, blocks at most two slots before and after a slot make it heard', (t) => {
  const watched = new WatchedSlots(1);
  watched.hear(8);
  watched.note('a', 10, true);
  watched.hear(12);
  t.is(watched.firstHeard('a', 9), 10);
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
  t.is(watched.firstHeard('a', 0), 184, 'the newest ones are stored');
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
