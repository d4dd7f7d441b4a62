/** Tests which peers get which announced items (for example transaction ids), and when. */

import test from 'ava';

import { Announcements, type AnnouncementOptions } from '../../src/engine/announcements.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

const EVERY_MS = 5_000;

interface Sent {
  readonly atMs: number;
  readonly to: string;
  readonly items: readonly string[];
}

/** @param areTaken whether peers request the announced items */
function setUpAnnouncements(peers: string[], changes: Partial<AnnouncementOptions<string>> = {}, areTaken = true) {
  const time = new VirtualTime(0);
  const sent: Sent[] = [];
  const gone = new Set<string>();
  const announcements: Announcements<string> = new Announcements<string>({
    clock: time.clock(),
    targets: () => peers,
    peersPerItemMax: Infinity,
    rate: { burst: 1, everyMs: EVERY_MS },
    keyOf: (item) => item,
    isCurrent: (item) => !gone.has(item),
    send: (to, items) => {
      sent.push({ atMs: time.nowMs, to, items });
      if (areTaken) announcements.given(to, items);
    },
    ...changes,
  });
  announcements.start();
  return { announcements, time, sent, gone, run: (seconds: number) => time.runUntil(time.nowMs + seconds * 1000) };
}

test('a new item goes at once to a peer without recent messages, together with other new items', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a', 'b']);
  await run(60);
  announcements.add('1');
  announcements.add('2');
  await run(1);
  t.deepEqual(
    sent.map(({ to, items }) => [to, items]),
    [
      ['a', ['1', '2']],
      ['b', ['1', '2']],
    ],
  );
  t.true(sent.every(({ atMs }) => atMs <= 61_000));
});

test('no peer gets messages faster than the rate, and each item is sent to it once', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a']);
  for (let second = 0; second < 60; second += 1) {
    announcements.add(`${second}`);
    await run(1);
  }
  await run(60);
  for (const [index, { atMs }] of sent.entries()) {
    t.true(index === 0 || atMs - (sent[index - 1]?.atMs ?? 0) >= EVERY_MS - 1, `${atMs}`);
  }
  const announced = sent.flatMap(({ items }) => items);
  t.deepEqual(announced, [...new Set(announced)]);
  t.is(announced.length, 60);
});

test('a message has at most 25 items', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a']);
  for (let item = 0; item < 60; item += 1) announcements.add(`${item}`);
  await run(30);
  t.deepEqual(
    sent.map(({ items }) => items.length),
    [25, 25, 10],
  );
});

test('an item is not announced to the peer it came from, and items new to all peers come first', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a', 'b']);
  await run(1);
  announcements.announcedBy('a', ['relayed', 'own of b']);
  announcements.add('relayed');
  announcements.add('ours');
  await run(1);
  t.deepEqual(
    sent.map(({ to, items }) => [to, items]),
    [
      ['a', ['ours']],
      ['b', ['ours', 'relayed']],
    ],
  );
});

test('an item that is no longer in the pool is left out of the message', async (t) => {
  const { announcements, sent, gone, run } = setUpAnnouncements(['a']);
  announcements.add('1');
  await run(1);
  announcements.add('2');
  announcements.add('3');
  gone.add('2');
  await run(10);
  t.deepEqual(
    sent.map(({ items }) => items),
    [['1'], ['3']],
  );
});

test('a peer that connects later gets the current items, at the rate that it had before', async (t) => {
  const peers: string[] = [];
  const { announcements, sent, run } = setUpAnnouncements(peers);
  announcements.add('1');
  await run(100);
  t.deepEqual(sent, []);
  peers.push('late');
  announcements.connected();
  await run(1);
  t.deepEqual(
    sent.map(({ to, items }) => [to, items]),
    [['late', ['1']]],
  );
  announcements.disconnected('late');
  announcements.connected();
  await run(1);
  t.is(sent.length, 1, 'its rate is remembered');
  await run(10);
  t.deepEqual(sent[1]?.items, ['1'], 'the peer may have lost the announced transaction');
});

test('with a limited fan-out each item goes to that number of peers', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a', 'b', 'c', 'd'], { peersPerItemMax: 3 });
  announcements.add('1');
  await run(60);
  t.is(sent.length, 3);
});

test('a new item goes to three peers at once, and to the others one after another at different times', async (t) => {
  const peers = Array.from({ length: 10 }, (_, index) => `${index}`);
  const { announcements, sent, run } = setUpAnnouncements(peers);
  announcements.add('1');
  await run(0.5);
  t.is(sent.length, 3);
  await run(1);
  announcements.add('2');
  const before = sent.length;
  await run(1);
  t.true(
    sent.slice(before).some(({ items }) => items.includes('2')),
    'some peer gets an announcement within a second',
  );
  await run(5);
  t.deepEqual([...new Set(sent.map(({ to }) => to))].sort(), peers, 'each peer gets an announcement');
});

test('an item that no peer asks for is announced again, with growing pauses, until one does', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a', 'b'], {}, false);
  announcements.add('1');
  await run(400);
  const moments = sent.filter(({ to }) => to === 'a').map(({ atMs }) => Math.round(atMs / 10_000) * 10);
  t.deepEqual(moments, [0, 30, 90, 210], 'seconds');
  announcements.given('b', ['1']);
  await run(3600);
  t.is(sent.filter(({ to }) => to === 'a').length, 4);
  announcements.disconnected('b');
  await run(3600);
  t.true(sent.filter(({ to }) => to === 'a').length > 4, 'the peer that had it is gone');
});

test('an item that left the pool is not announced again', async (t) => {
  const { announcements, sent, gone, run } = setUpAnnouncements(['a'], {}, false);
  announcements.add('1');
  await run(10);
  gone.add('1');
  await run(3600);
  t.is(sent.length, 1);
});

test('an item that left the pool and came back is not twice in one message', async (t) => {
  const peers = ['a'];
  const { announcements, sent, gone, run } = setUpAnnouncements(peers);
  announcements.add('1');
  await run(10);
  gone.add('1');
  await run(50);
  gone.delete('1');
  announcements.add('1');
  await run(10);
  peers.push('late');
  announcements.connected();
  await run(10);
  t.deepEqual(
    sent.map(({ to, items }) => [to, items]),
    [
      ['a', ['1']],
      ['late', ['1']],
    ],
  );
});

test('an item submitted again is announced at once if no peer has it, at most once in ten seconds', async (t) => {
  const { announcements, sent, run } = setUpAnnouncements(['a'], {}, false);
  announcements.add('1');
  await run(12);
  for (let time = 0; time < 5; time += 1) announcements.addAgain('1');
  await run(1);
  t.is(sent.length, 2);
  for (let time = 0; time < 5; time += 1) announcements.addAgain('1');
  await run(8);
  t.is(sent.length, 2);
  announcements.given('a', ['1']);
  await run(10);
  announcements.addAgain('1');
  await run(8);
  t.is(sent.length, 2, 'a peer has it');
});
