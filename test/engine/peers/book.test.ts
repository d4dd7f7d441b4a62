import test from 'ava';

import { PeerBook } from '../../../src/engine/peers/book.ts';
import type { PeerInfo } from '../../../src/ports/transport.ts';
import { address, FakeClock, seeded } from './support.ts';

const DAY_MS = 86_400_000;

function newBook(pinned: readonly string[] = [], clock = new FakeClock()): { book: PeerBook; clock: FakeClock } {
  const book = new PeerBook({
    random: seeded(5),
    nowMs: () => clock.nowMs(),
    isPinned: (peerId) => pinned.includes(peerId),
  });
  return { book, clock };
}

const idsOf = (book: PeerBook, list?: 'new' | 'tried'): string[] =>
  book.peers(list).map(({ info }) => `${info.ip}:${String(info.wsPort)}`);

test('a peer known only from other peers is new, a connected peer is tried', (t) => {
  const { book } = newBook();
  book.add(address('1.2.3.4:5000'), '9.9.9.9');
  t.deepEqual(idsOf(book, 'new'), ['1.2.3.4:5000']);
  book.promote({ ...address('1.2.3.4:5000'), version: '3.0.2' });
  t.deepEqual([idsOf(book, 'new'), idsOf(book, 'tried')], [[], ['1.2.3.4:5000']]);
  book.add({ ...address('1.2.3.4:5000'), version: 'hearsay' });
  t.is(book.get('1.2.3.4:5000')?.info.version, '3.0.2');
  book.update({ ...address('1.2.3.4:5000'), version: '3.0.3', height: 7 });
  t.like(book.get('1.2.3.4:5000'), { list: 'tried', info: { version: '3.0.3', height: 7 } });
  book.update(address('5.5.5.5:5000'));
  t.is(book.get('5.5.5.5:5000'), undefined);
});

test('several ports at one address are several peers', (t) => {
  const { book } = newBook();
  book.add(address('127.0.0.1:5000'));
  book.add(address('127.0.0.1:5001'));
  t.is(book.peers().length, 2);
});

test('a new peer that fails is forgotten, a tried one becomes new after three failures', (t) => {
  const { book } = newBook(['3.3.3.3:1']);
  book.add(address('1.1.1.1:1'));
  book.promote(address('2.2.2.2:1'));
  book.promote(address('3.3.3.3:1'));
  book.fail('1.1.1.1:1');
  book.fail('9.9.9.9:1');
  t.is(book.get('1.1.1.1:1'), undefined);
  for (let failure = 0; failure < 2; failure += 1) book.fail('2.2.2.2:1');
  t.like(book.get('2.2.2.2:1'), { list: 'tried', failures: 2 });
  book.fail('2.2.2.2:1');
  t.is(book.get('2.2.2.2:1')?.list, 'new');
  for (let failure = 0; failure < 5; failure += 1) book.fail('3.3.3.3:1');
  t.is(book.get('3.3.3.3:1')?.list, 'tried');
});

test('a success erases earlier failures', (t) => {
  const { book } = newBook();
  book.promote(address('2.2.2.2:1'));
  book.fail('2.2.2.2:1');
  book.promote(address('2.2.2.2:1'));
  t.is(book.get('2.2.2.2:1')?.failures, 0);
});

test('a full bucket evicts a stale entry first, and never a pinned one', (t) => {
  const { book, clock } = newBook(['127.0.0.1:1']);
  book.promote(address('127.0.0.1:1'));
  for (let port = 2; port <= 200; port += 1) book.promote(address(`127.0.0.1:${String(port)}`));
  t.is(book.peers('tried').length, 32);
  t.truthy(book.get('127.0.0.1:1'));

  book.add(address('127.0.0.2:1'));
  return clock.advance(DAY_MS + 1).then(() => {
    for (let port = 2; port <= 33; port += 1) book.add(address(`127.0.0.2:${String(port)}`));
    t.is(book.get('127.0.0.2:1'), undefined);
    t.is(book.peers('new').length, 32);
  });
});

test('one source cannot fill the list of new peers', (t) => {
  const { book } = newBook();
  for (let index = 0; index < 6_000; index += 1) {
    book.add(address(`${String(1 + (index % 9))}.${String(index % 251)}.${String(index % 241)}.7:5000`), '66.6.6.6');
  }
  t.true(book.peers('new').length <= 16 * 32);
});

test('a ban lasts for its time, covers all ports, and removes the unpinned peers of the address', async (t) => {
  const { book, clock } = newBook(['1.1.1.1:2']);
  for (const peer of ['1.1.1.1:1', '1.1.1.1:2', '2.2.2.2:1']) book.add(address(peer));
  book.ban('1.1.1.1', clock.nowMs() + DAY_MS, 'MESSAGE_RATE');
  t.deepEqual(idsOf(book).sort(), ['1.1.1.1:2', '2.2.2.2:1']);
  t.true(book.isBanned('1.1.1.1'));
  t.false(book.isBanned('2.2.2.2'));
  await clock.advance(DAY_MS - 1);
  t.true(book.isBanned('1.1.1.1'));
  t.is(book.bans().length, 1);
  await clock.advance(1);
  t.false(book.isBanned('1.1.1.1'));
  book.expireBans();
  t.deepEqual(book.bans(), []);
  book.ban('3.3.3.3', clock.nowMs() + DAY_MS, 'x');
  book.unban('3.3.3.3');
  t.false(book.isBanned('3.3.3.3'));
});

test('a ban looks at no peers of other addresses', (t) => {
  const { book, clock } = newBook();
  let looks = 0;
  const counted = (ip: string, wsPort: number): PeerInfo => ({
    get ip() {
      looks += 1;
      return ip;
    },
    wsPort,
  });
  for (let number = 1; number <= 100; number += 1) book.add(counted(`${number}.2.3.4`, 5000));
  book.add(counted('9.9.9.9', 1));
  book.promote(counted('9.9.9.9', 2));
  const known = book.peers().length;
  looks = 0;
  book.ban('9.9.9.9', clock.nowMs() + DAY_MS, 'why');
  t.true(looks <= 2, `${looks} looks`);
  t.is(book.peers().length, known - 2);
  book.ban('8.8.8.8', clock.nowMs() + DAY_MS, 'why');
  t.is(book.peers().length, known - 2);
});

test('the bans of a saved book still remove the peers of their addresses that the book lists', (t) => {
  const { book, clock } = newBook();
  for (const peer of ['1.1.1.1:1', '1.1.1.1:2', '2.2.2.2:1']) book.add(address(peer));
  const note = JSON.parse(Buffer.from(book.toNote()).toString()) as object;
  const bans = [{ ip: '1.1.1.1', untilMs: clock.nowMs() + DAY_MS, reason: 'why' }];
  const { book: later } = newBook(['1.1.1.1:2'], clock);
  later.add(address('3.3.3.3:1'));
  t.true(later.load(Buffer.from(JSON.stringify({ ...note, bans }))));
  t.deepEqual(idsOf(later).sort(), ['1.1.1.1:2', '2.2.2.2:1']);
  later.ban('3.3.3.3', clock.nowMs() + DAY_MS, 'why');
  t.deepEqual(idsOf(later).sort(), ['1.1.1.1:2', '2.2.2.2:1']);
});

test('a saved book is restored with lists, bans and secret', (t) => {
  const { book, clock } = newBook();
  book.add(address('1.1.1.1:1'), '9.9.9.9');
  book.promote({ ...address('2.2.2.2:1'), version: '3.0.2', height: 9 });
  book.ban('4.4.4.4', clock.nowMs() + DAY_MS, 'why');
  const { book: later } = newBook([], clock);
  t.true(later.load(book.toNote()));
  t.deepEqual(later.peers('tried'), book.peers('tried'));
  t.deepEqual(idsOf(later, 'new'), ['1.1.1.1:1']);
  t.deepEqual(later.bans(), book.bans());
  t.is(later.netgroupOf('7.7.7.7'), book.netgroupOf('7.7.7.7'));
});

test('an invalid saved book changes nothing, and bad entries of a valid one are skipped', (t) => {
  const { book } = newBook();
  book.add(address('1.1.1.1:1'));
  for (const text of ['', 'x', 'null', '[]', '5', '{}', '{"version":2}', '{"version":1,"secret":"x"}']) {
    t.false(book.load(Buffer.from(text)), text);
  }
  t.deepEqual(idsOf(book), ['1.1.1.1:1']);
  const good = { info: address('5.5.5.5:1'), list: 'tried', bucket: 3, addedMs: 5 };
  const bad = [
    null,
    5,
    {},
    { ...good, bucket: 64, info: address('7.7.7.7:1') },
    { ...good, info: { ip: 'x', wsPort: 1 } },
    { ...good, info: { ip: '6.6.6.6', wsPort: 0 } },
  ];
  const note = { version: 1, secret: 'a1b2c3d4', peers: [good, ...bad], bans: [null, {}, { ip: 'x', untilMs: 1 }] };
  t.true(book.load(Buffer.from(JSON.stringify(note))));
  t.deepEqual(idsOf(book), ['5.5.5.5:1']);
});
