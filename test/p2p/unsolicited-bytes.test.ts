import test from 'ava';

import { FRAME_BYTES_MAX } from '../../src/p2p/frame-validation.ts';
import { arrivalsMax, RATES, SAFETY } from '../../src/ports/rates.ts';
import {
  ARRIVING_OF_ALL_PEERS,
  ARRIVING_OF_PEER,
  ARRIVING_SHARE,
  FLOOD_BYTES_MAX,
  FLOOD_WINDOW_MS,
  HEAVY_ANSWERS_OF_ALL_PEERS,
  readAtOnceBytesMax,
  SMALL_OF_ALL_PEERS,
  SMALL_OF_PEER,
  SMALL_WEIGHT_MAX,
  UnsolicitedBytesBudget,
  SharedUnsolicitedBytesBudget,
} from '../../src/p2p/unsolicited-bytes.ts';

const MB = 1_000_000;
const SMALL = 200_000;
const none = (): number => 0;
const readsOf = (bytes: UnsolicitedBytesBudget, count: number, nowMs = 0, seems = false): number =>
  Array.from({ length: count }, () => bytes.mayRead(SMALL, none, nowMs, seems)).filter(Boolean).length;

test('small frames of a peer are read up to its budget, which refills over time', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  t.is(readsOf(bytes, 100), SMALL_OF_PEER.capacity / SMALL);
  t.is(readsOf(bytes, 100, 1_000), SMALL_OF_PEER.perSecond / SMALL);
});

test('when all peers together send too many small frames, the frames of quiet peers are still read', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  const loud = Array.from({ length: 6 }, () => new UnsolicitedBytesBudget(shared));
  const read = loud.reduce((sum, peer) => sum + readsOf(peer, 100), 0);
  t.true(read <= SMALL_OF_ALL_PEERS.capacity / SMALL + loud.length, `${read}`);
  t.is(readsOf(new UnsolicitedBytesBudget(shared), 1), 1);
});

test('one answer is read for each pending request, whatever was read before', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  const large = (): boolean => bytes.mayRead(FRAME_BYTES_MAX, () => 10 * MB, 0, true);
  t.is([large(), large(), large()].filter(Boolean).length, 1);
  bytes.asked();
  bytes.asked();
  t.deepEqual([large(), large(), large()], [true, true, false]);
  bytes.settled();
  bytes.settled();
  t.false(large());
});

test('the budget of a request is gone when the request is settled', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  for (let request = 0; request < 20; request += 1) {
    bytes.asked();
    bytes.mayRead(100, none, 0, true);
    bytes.settled();
  }
  t.true(bytes.mayRead(FRAME_BYTES_MAX, () => 14 * MB, 0, false));
  t.false(bytes.mayRead(FRAME_BYTES_MAX, none, 0, true));
});

test('a push has a budget for its acknowledgement only', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  t.true(bytes.mayRead(FRAME_BYTES_MAX, () => 14 * MB, 0, false));
  bytes.asked(1_000);
  t.false(bytes.mayRead(FRAME_BYTES_MAX, none, 0, true));
  t.is(readsOf(bytes, 1), 1);
});

test('a peer that sends without end is paused briefly each time, and answers cause no pause', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  let nowMs = 0;
  let taken = 0;
  for (let frame = 0; frame < 100; frame += 1) {
    taken += FRAME_BYTES_MAX;
    const pauseMs = bytes.arrived(FRAME_BYTES_MAX, nowMs, false);
    t.true(pauseMs <= 1_000);
    nowMs += pauseMs;
  }
  t.true(taken <= ARRIVING_OF_PEER.capacity + (nowMs * ARRIVING_OF_PEER.perSecond) / 1_000 + FRAME_BYTES_MAX);
  for (let request = 0; request < 100; request += 1) {
    bytes.asked();
    t.is(bytes.arrived(FRAME_BYTES_MAX, nowMs, true), 0);
    bytes.settled();
  }
});

test('a pending request gives a budget for one answer, and none for other frames', (t) => {
  for (const what of ['blocks', 'other'] as const) {
    const bytes = new UnsolicitedBytesBudget();
    for (let request = 0; request < 10; request += 1) bytes.asked(FRAME_BYTES_MAX, what);
    t.is(readsOf(bytes, 100), SMALL_OF_PEER.capacity / SMALL, what);
    t.is(readsOf(bytes, 100, 0, true), 10, 'as many as requests');
  }
});

test('pending requests do not raise the number of small frames that are read from many peers', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  const loud = Array.from({ length: 20 }, () => new UnsolicitedBytesBudget(shared));
  for (const peer of loud) peer.asked(FRAME_BYTES_MAX, 'other');
  const read = loud.reduce((sum, peer) => sum + readsOf(peer, 100), 0);
  t.true(read <= SMALL_OF_ALL_PEERS.capacity / SMALL + loud.length, `${read}`);
});

test('answers of each kind find their budget, in any order of arrival', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  const heavy = (): boolean => bytes.mayRead(FRAME_BYTES_MAX, none, 0, true);
  t.true(
    bytes.mayRead(FRAME_BYTES_MAX, () => 14 * MB, 0, false),
    'nothing is left but what answers have',
  );
  bytes.asked(1_000, 'other');
  bytes.asked(FRAME_BYTES_MAX, 'other');
  bytes.asked();
  t.true(bytes.mayRead(100, none, 0, true), 'an acknowledgement');
  bytes.settled(1_000, 'other');
  t.true(heavy(), 'a pool');
  bytes.settled(FRAME_BYTES_MAX, 'other');
  t.true(heavy(), 'blocks');
  bytes.settled();
  t.false(heavy());
});

test('many peers that send small frames are paused like peers that send large frames; a quiet peer is not paused', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  const count = Math.ceil((2 * ARRIVING_OF_ALL_PEERS.capacity) / ARRIVING_OF_PEER.capacity) + 1;
  const loud = Array.from({ length: count }, () => new UnsolicitedBytesBudget(shared));
  let waiting = 0;
  for (let round = 0; round * SMALL < ARRIVING_OF_PEER.capacity; round += 1) {
    waiting = loud.filter((peer) => peer.arrived(SMALL, 0, false) > 0).length;
  }
  t.is(waiting, count);
  t.is(new UnsolicitedBytesBudget(shared).arrived(SMALL, 0, false), 0);
  const asked = new UnsolicitedBytesBudget(shared);
  asked.asked();
  t.is(asked.arrived(FRAME_BYTES_MAX, 0, true), 0);
  t.true(ARRIVING_SHARE.perSecond * 128 <= ARRIVING_OF_ALL_PEERS.perSecond);
});

test('excess small frames count as a flood only above what strangers can make an honest node send', (t) => {
  const honest = ([2, 3] as const).map((generation) => {
    const passedOn = RATES.filter(({ kind, generation: of }) => {
      return of === generation && ['block', 'transactions', 'transactionIds', 'signatures'].includes(kind);
    });
    return passedOn.reduce(
      (sum, { reference }) => sum + (reference === undefined ? 0 : arrivalsMax(reference, FLOOD_WINDOW_MS)),
      0,
    );
  });
  t.true(SAFETY * Math.max(...honest) * SMALL_WEIGHT_MAX <= FLOOD_BYTES_MAX + 1 * MB, honest.join(', '));
  const bytes = new UnsolicitedBytesBudget();
  const beyond = (count: number): number => {
    readsOf(bytes, count);
    return bytes.beyondBytes(0);
  };
  t.is(beyond(SMALL_OF_PEER.capacity / SMALL), 0);
  t.is(beyond(10), 10 * SMALL);
  t.is(bytes.beyondBytes(FLOOD_WINDOW_MS), 0, 'each minute begins anew');
});

test('frames that are dropped because of other peers do not count as a flood of their sender', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  for (let peer = 0; peer < 6; peer += 1) readsOf(new UnsolicitedBytesBudget(shared), 100);
  const modest = new UnsolicitedBytesBudget(shared);
  t.true(readsOf(modest, 10) < 10);
  t.is(modest.beyondBytes(0), 0);
});

test('all frames of many peers that are read at once, with reserves and heavy answers, stay within the memory budget', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  let read = 0;
  for (let line = 0; line < 184; line += 1) {
    const bytes = new UnsolicitedBytesBudget(shared, line < 20);
    read += SMALL * readsOf(bytes, 30);
    bytes.asked(FRAME_BYTES_MAX, 'other');
    for (const seems of [false, true]) {
      for (let frame = 0; frame < 10; frame += 1)
        if (bytes.mayRead(FRAME_BYTES_MAX, none, 0, seems)) read += FRAME_BYTES_MAX;
    }
  }
  t.true(read > 60 * MB);
  t.true(read <= readAtOnceBytesMax(184), `${read}`);
});

/**
 * Simulates `count` connections that send small frames as fast as the node reads them, and one honest connection.
 * Returns for each closed connection the time of its end in seconds. Also returns how long the honest connection was
 * paused, and by how many bytes it exceeded its budget.
 */
function floodOf(count: number, secondsMax: number) {
  const shared = new SharedUnsolicitedBytesBudget();
  const frame = 100_000;
  const flooding = Array.from({ length: count }, () => ({ bytes: new UnsolicitedBytesBudget(shared), freeMs: 0 }));
  const honest = new UnsolicitedBytesBudget(shared);
  const closedSeconds: number[] = [];
  let honestWaited = 0;
  const stepMs = 20;
  for (let nowMs = 0; nowMs < secondsMax * 1_000 && flooding.length > 0; nowMs += stepMs) {
    // In each step, the connections at the front of the list use up the shared budget. The list rotates in each step,
    // so that no connection is always at the front.
    flooding.push(...flooding.splice(0, 1));
    for (const line of [...flooding]) {
      while (line.freeMs <= nowMs) {
        const pauseMs = line.bytes.arrived(frame, nowMs, false);
        if (pauseMs > 0) line.freeMs = nowMs + pauseMs;
        line.bytes.mayRead(frame, none, nowMs, false);
        if (line.bytes.beyondBytes(nowMs) <= FLOOD_BYTES_MAX) continue;
        flooding.splice(flooding.indexOf(line), 1);
        closedSeconds.push(nowMs / 1_000);
        break;
      }
    }
    if (nowMs % 1_000 > 0) continue;
    // The honest connection sends 200 kB per second, half of the allowed rate.
    honestWaited += honest.arrived(SMALL, nowMs, false);
    honest.mayRead(SMALL, none, nowMs, false);
  }
  return { closedSeconds, honestWaited, honestBeyond: honest.beyondBytes(secondsMax * 1_000 - 1) };
}

test('eight flooding connections are closed within a minute, like a single one, and an honest one is not', (t) => {
  for (const count of [1, 7, 8]) {
    const { closedSeconds, honestWaited, honestBeyond } = floodOf(count, 120);
    t.is(closedSeconds.length, count);
    t.true(Math.max(...closedSeconds) <= 60, closedSeconds.join(', '));
    t.is(honestBeyond, 0);
    t.is(honestWaited, 0);
  }
});

test('forty connections that flood together, and so pause each other, are closed within five minutes', (t) => {
  const { closedSeconds, honestWaited, honestBeyond } = floodOf(40, 400);
  t.is(closedSeconds.length, 40);
  t.true(Math.max(...closedSeconds) <= 300, closedSeconds.join(', '));
  t.is(honestBeyond, 0);
  t.is(honestWaited, 0);
});

test('the heaviest answers are read at most at the stated average rate, whoever sends them', (t) => {
  const shared = new SharedUnsolicitedBytesBudget();
  const heaviest = 15 * MB;
  let weight = 0;
  for (let nowMs = 0; nowMs < 60_000; nowMs += 500) {
    const bytes = new UnsolicitedBytesBudget(shared);
    bytes.asked(FRAME_BYTES_MAX, 'other');
    if (bytes.mayRead(FRAME_BYTES_MAX, () => heaviest - FRAME_BYTES_MAX, nowMs, true)) weight += heaviest;
  }
  const { capacity, perSecond } = HEAVY_ANSWERS_OF_ALL_PEERS;
  t.true(weight > heaviest);
  t.true(weight <= capacity + 60 * perSecond + heaviest, `${weight}`);
});

test('a flood of small messages that are heavy by their weight counts as a flood, too', (t) => {
  const bytes = new UnsolicitedBytesBudget();
  let read = 0;
  for (let frame = 0; frame < 1_000; frame += 1) if (bytes.mayRead(200_000, () => MB, 0, false)) read += 1;
  t.true(read > 0 && read < 30, `${read}`);
  t.is(bytes.beyondBytes(0), (1_000 - read) * 200_000);
});
