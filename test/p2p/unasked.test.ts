import test from 'ava';

import { FRAME_BYTES_MAX } from '../../src/p2p/packets.ts';
import { ARRIVING_OF_PEER, SMALL_OF_CROWD, SMALL_OF_PEER, UnaskedBytes, UnaskedCrowd } from '../../src/p2p/unasked.ts';

const MB = 1_000_000;
const SMALL = 200_000;
const none = (): number => 0;
const readsOf = (bytes: UnaskedBytes, count: number, nowMs = 0): number =>
  Array.from({ length: count }, () => bytes.mayRead(SMALL, none, nowMs)).filter(Boolean).length;

test('small frames of a peer are read up to its budget, and again as time passes', (t) => {
  const bytes = new UnaskedBytes();
  t.is(readsOf(bytes, 100), SMALL_OF_PEER.capacity / SMALL);
  t.is(readsOf(bytes, 100, 1_000), SMALL_OF_PEER.perSecond / SMALL);
});

test('where all peers together send too many small frames, those are still read that sent few', (t) => {
  const crowd = new UnaskedCrowd();
  const loud = Array.from({ length: 6 }, () => new UnaskedBytes(crowd));
  const read = loud.reduce((sum, peer) => sum + readsOf(peer, 100), 0);
  t.true(read <= SMALL_OF_CROWD.capacity / SMALL + loud.length, `${read}`);
  t.is(readsOf(new UnaskedBytes(crowd), 1), 1);
});

test('each open question has one answer read, whatever else was read before', (t) => {
  const bytes = new UnaskedBytes();
  const large = (): boolean => bytes.mayRead(FRAME_BYTES_MAX, () => 10 * MB, 0);
  t.is([large(), large(), large()].filter(Boolean).length, 1);
  bytes.asked();
  bytes.asked();
  t.deepEqual([large(), large(), large()], [true, true, false]);
  bytes.settled();
  bytes.settled();
  t.false(large());
});

test('room that no answer took is gone when the question is settled', (t) => {
  const bytes = new UnaskedBytes();
  for (let question = 0; question < 20; question += 1) {
    bytes.asked();
    bytes.mayRead(100, none, 0);
    bytes.settled();
  }
  t.true(bytes.mayRead(FRAME_BYTES_MAX, () => 14 * MB, 0));
  t.false(bytes.mayRead(FRAME_BYTES_MAX, none, 0));
});

test('a push leaves no room for more than its acknowledgement', (t) => {
  const bytes = new UnaskedBytes();
  t.true(bytes.mayRead(FRAME_BYTES_MAX, () => 14 * MB, 0));
  bytes.asked(1_000);
  t.false(bytes.mayRead(FRAME_BYTES_MAX, none, 0));
  t.is(readsOf(bytes, 1), 1);
});

test('a peer that sends without end waits, a moment at a time, and answers make nobody wait', (t) => {
  const bytes = new UnaskedBytes();
  let nowMs = 0;
  let taken = 0;
  for (let frame = 0; frame < 100; frame += 1) {
    taken += FRAME_BYTES_MAX;
    const pauseMs = bytes.arrived(FRAME_BYTES_MAX, nowMs);
    t.true(pauseMs <= 1_000);
    nowMs += pauseMs;
  }
  t.true(taken <= ARRIVING_OF_PEER.capacity + (nowMs * ARRIVING_OF_PEER.perSecond) / 1_000 + FRAME_BYTES_MAX);
  for (let question = 0; question < 100; question += 1) {
    bytes.asked();
    t.is(bytes.arrived(FRAME_BYTES_MAX, nowMs), 0);
    bytes.settled();
  }
});
