import test from 'ava';

import { FRAME_BYTES_MAX } from '../../src/p2p/packets.ts';
import { UNASKED_BYTES_CHARGED, UNASKED_BYTES_FREE, UnaskedBytes, UnaskedCrowd } from '../../src/p2p/unasked.ts';

const MB = 1_000_000;

test('bytes of a window add up, and the next one begins anew', (t) => {
  const bytes = new UnaskedBytes();
  t.deepEqual(bytes.take(3 * MB, 0), { before: 0, total: 3 * MB });
  t.false(bytes.isSpent(0));
  t.deepEqual(bytes.take(MB + 1, 9_999), { before: 3 * MB, total: UNASKED_BYTES_FREE + 1 });
  t.true(bytes.isSpent(9_999));
  t.false(bytes.isSpent(10_000));
  t.deepEqual(bytes.take(5, 10_000), { before: 0, total: 5 });
});

test('each open question leaves room for one answer', (t) => {
  const bytes = new UnaskedBytes();
  bytes.asked();
  bytes.asked();
  t.is(bytes.take(FRAME_BYTES_MAX, 0).total, 0);
  bytes.settled();
  t.is(bytes.take(FRAME_BYTES_MAX, 0).total, 0);
  t.is(bytes.take(10, 0).total, 10);
  bytes.settled();
});

test('room that no answer took is gone when the question is settled', (t) => {
  const bytes = new UnaskedBytes();
  for (let question = 0; question < 20; question += 1) {
    bytes.asked();
    bytes.take(100, 0);
    bytes.settled();
  }
  t.is(bytes.take(MB, 0).total, MB);
});

test('a push leaves room for no more than its acknowledgement, also beside a question', (t) => {
  const bytes = new UnaskedBytes();
  bytes.asked(1000);
  t.is(bytes.take(MB, 0).total, MB - 1000);
  bytes.asked();
  bytes.settled(1000);
  t.is(bytes.take(FRAME_BYTES_MAX, 0).total, MB - 1000);
  bytes.settled();
  t.is(bytes.take(10, 0).total, MB - 990);
});

test('where all peers together send too much, only those are read that sent little of it', (t) => {
  const crowd = new UnaskedCrowd();
  const modest = new UnaskedBytes(crowd);
  modest.take(100_000, 0);
  const loud = Array.from({ length: 7 }, () => new UnaskedBytes(crowd));
  for (const peer of loud.slice(0, 6)) peer.take(3.9 * MB, 0);
  t.true(loud.slice(0, 6).every((peer) => !peer.isSpent(0)));
  loud[6]?.take(MB, 0);
  t.true(loud.every((peer) => peer.isSpent(0)));
  t.false(modest.isSpent(0));
  t.false(loud.some((peer) => peer.isSpent(10_000)));
});

test('after one frame full of objects no other peer has a large one read, and its sender is not cut for it', (t) => {
  const crowd = new UnaskedCrowd();
  const [first, other, modest] = [new UnaskedBytes(crowd), new UnaskedBytes(crowd), new UnaskedBytes(crowd)];
  // A million empty objects.
  first.take(2.9 * MB, 0);
  t.false(first.isSpent(0));
  first.takeContainers(7.3 * MB, 0);
  t.true(first.take(0, 0).total < UNASKED_BYTES_CHARGED);
  other.take(2.9 * MB, 0);
  t.true(other.isSpent(0));
  modest.take(MB / 10, 0);
  t.false(modest.isSpent(0));
  t.false(other.isSpent(10_000));
});

test('containers of an answer count for nobody', (t) => {
  const crowd = new UnaskedCrowd();
  const [asked, other] = [new UnaskedBytes(crowd), new UnaskedBytes(crowd)];
  for (let question = 0; question < 10; question += 1) asked.asked();
  asked.takeContainers(8 * MB, 0);
  other.take(2.9 * MB, 0);
  t.false(other.isSpent(0));
});
