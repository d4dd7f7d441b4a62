/** Tests which peers a node asks for announced transactions, and how often. */

import test from 'ava';

import {
  AGAIN_EVERY,
  REFUSALS_MAX,
  REFUSED_PAUSE_MS,
  TransactionFetcher,
} from '../../src/engine/transaction-fetcher.ts';
import type { AnswerTo, PeerRequest } from '../../src/ports/transport.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

interface FetchRequest {
  readonly atMs: number;
  readonly peerId: string;
  readonly ids: readonly string[];
}

/**
 * @param silent peers that never answer
 * @param isRefused whether the node refuses a transaction that a peer sent
 * @param isUnreadable whether a request for this transaction fails
 * @param isStrange whether the pool cannot read this transaction, and stops reading the answer there
 */
function setUpFetcher(
  silent: readonly string[] = [],
  isRefused: (id: string, peerId: string) => boolean = () => false,
  isUnreadable: (id: string) => boolean = () => false,
  isStrange: (id: string) => boolean = () => false,
) {
  const time = new VirtualTime(0);
  const asked: FetchRequest[] = [];
  const here = new Set<string>();
  const request = async <R extends PeerRequest>(peerId: string, request: R): Promise<AnswerTo<R>> => {
    if (request.kind !== 'transactions') throw new Error('only transactions are asked for');
    const { ids = [] } = request;
    asked.push({ atMs: time.nowMs, peerId, ids });
    if (silent.includes(peerId)) return new Promise(() => undefined);
    if (ids.some(isUnreadable)) throw new Error('no answer');
    return ids as readonly unknown[] as AnswerTo<R>;
  };
  const fetcher = new TransactionFetcher({
    clock: time.clock(),
    transport: { request },
    rate: { burst: 1, everyMs: 5_000 },
    has: (id) => here.has(id),
    take: (peerId, transactions) => {
      const ids = transactions as readonly string[];
      const stopAt = ids.findIndex(isStrange);
      const examined = stopAt < 0 ? ids : ids.slice(0, stopAt);
      for (const id of examined) if (!isRefused(id, peerId)) here.add(id);
      return Promise.resolve({ examined, isCutShort: stopAt >= 0 });
    },
    failed: () => undefined,
  });
  const run = async (seconds: number): Promise<void> => {
    // Before the time moves, let the fetcher process the answers that have already arrived.
    await new Promise((resolve) => setImmediate(resolve));
    await time.runUntil(time.nowMs + seconds * 1000);
  };
  return { fetcher, asked, here, run };
}

test('a transaction that several peers announce is requested from one', async (t) => {
  const { fetcher, asked, run } = setUpFetcher();
  for (const peerId of ['a', 'b', 'c']) fetcher.announced(peerId, ['1', '2']);
  await run(30);
  t.deepEqual(asked, [{ atMs: 0, peerId: 'a', ids: ['1', '2'] }]);
});

test('a transaction that the pool cannot read hides no other transaction of the answer', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher(
    [],
    () => false,
    () => false,
    (id) => id === 'strange',
  );
  const ids = ['1', 'strange', '2', '3', '4'];
  fetcher.announced('a', ids);
  await run(120);
  t.deepEqual([...here].sort(), ['1', '2', '3', '4']);
  t.true(asked.length < 8, `${asked.length} requests`);
  t.is(asked.filter((request) => request.ids.length === 1 && request.ids[0] === 'strange').length, 1);
});

test('a silent peer hides no transaction: another peer is asked after moments', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher(['liar']);
  fetcher.announced('liar', ['1']);
  fetcher.announced('honest', ['1']);
  await run(3);
  t.true(here.has('1'));
  t.deepEqual(
    asked.map(({ peerId }) => peerId),
    ['liar', 'honest'],
  );
});

test('a requested transaction that does not arrive counts as not requested after a minute', async (t) => {
  const { fetcher, asked, run } = setUpFetcher(['liar']);
  fetcher.announced('liar', ['1']);
  await run(30);
  fetcher.announced('other', ['2']);
  await run(29);
  // The request to 'liar' is older than `FIRST_ASKED_ALONE_MS`, so the node asks 'a' immediately.
  fetcher.announced('a', ['1']);
  t.deepEqual(asked.at(-1), { atMs: 59_000, peerId: 'a', ids: ['1'] });
  t.is(asked.length, 3);

  const late = setUpFetcher(['liar', 'second']);
  late.fetcher.announced('liar', ['1']);
  await late.run(61);
  late.fetcher.announced('second', ['1']);
  late.fetcher.announced('third', ['1']);
  t.deepEqual(
    late.asked.map(({ peerId }) => peerId),
    ['liar', 'second'],
  );
  await late.run(3);
  t.deepEqual(
    late.asked.map(({ peerId }) => peerId),
    ['liar', 'second', 'third'],
  );
});

test('a peer that announces every second is asked every five seconds, for at most as many ids as one announcement had', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher();
  for (let second = 0; second < 60; second += 1) {
    fetcher.announced('a', [`${second} a`, `${second} b`, `${second} c`]);
    await run(1);
  }
  await run(300);
  for (const [index, { atMs, ids }] of asked.entries()) {
    t.true(index === 0 || atMs - (asked[index - 1]?.atMs ?? 0) >= 4_999, `${atMs}`);
    t.true(ids.length <= 3);
  }
  t.is(here.size, 180);
});

test('a transaction that arrived another way is not requested', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher();
  fetcher.announced('a', ['1']);
  fetcher.announced('a', ['2']);
  fetcher.announced('a', ['3']);
  here.add('2');
  await run(60);
  t.deepEqual(
    asked.map(({ ids }) => ids),
    [['1'], ['3']],
  );
});

test('the request for the whole pool counts as well, and a peer that returns keeps its rate', async (t) => {
  const { fetcher, asked, run } = setUpFetcher();
  await fetcher.pool('a');
  fetcher.disconnected('a');
  await t.throwsAsync(fetcher.pool('a'), { code: 'REQUEST_FAILED' });
  fetcher.announced('a', ['1']);
  await run(4);
  t.is(asked.length, 1);
  await run(2);
  t.is(asked.length, 2);
});

test('a refused transaction is requested from three peers, and from others only after a pause', async (t) => {
  const { fetcher, asked, run } = setUpFetcher([], (id) => id === 'junk');
  const peers = Array.from({ length: 40 }, (_, index) => `peer ${index}`);
  for (const peerId of peers) fetcher.announced(peerId, ['junk']);
  await run(30);
  t.is(asked.length, REFUSALS_MAX);
  for (const peerId of peers) fetcher.announced(peerId, ['junk', `good ${peerId}`]);
  await run(20);
  t.is(asked.filter(({ ids }) => ids.includes('junk')).length, REFUSALS_MAX);
  t.is(asked.filter(({ ids }) => ids.some((id) => id.startsWith('good'))).length, peers.length);
  await run(REFUSED_PAUSE_MS / 1000);
  const givers = asked.filter(({ ids }) => ids.includes('junk')).map(({ peerId }) => peerId);
  t.is(givers.length, 2 * REFUSALS_MAX);
  t.is(new Set(givers).size, givers.length);
});

test('three peers that send false content for an id delay the valid transaction by one pause, not longer', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher([], (_id, peerId) => peerId.startsWith('liar'));
  const liars = ['liar 1', 'liar 2', 'liar 3'];
  for (const peerId of liars) fetcher.announced(peerId, ['1']);
  await run(10);
  fetcher.announced('honest', ['1']);
  for (let second = 0; second < REFUSED_PAUSE_MS / 1000 + 5; second += 1) {
    for (const peerId of liars) fetcher.announced(peerId, ['1']);
    await run(1);
  }
  t.true(here.has('1'));
  t.is(asked.length, REFUSALS_MAX + 1);
});

test('a transaction that makes every answer unreadable does not stop the fetch of the others', async (t) => {
  const ids = Array.from({ length: 25 }, (_, index) => `${index}`);
  const { fetcher, here, run } = setUpFetcher([], undefined, (id) => id === '13');
  fetcher.announced('a', ids);
  for (let second = 0; second < 120; second += 1) await run(1);
  t.deepEqual([...here].sort(), ids.filter((id) => id !== '13').sort());
});

test('ids that were refused make room for new ones', async (t) => {
  const { fetcher, here, run } = setUpFetcher([], (id) => id.startsWith('junk'));
  const junk = Array.from({ length: 500 }, (_, index) => `junk ${index}`);
  const givers = ['a', 'b', 'c'];
  for (const peerId of givers) for (let at = 0; at < 500; at += 25) fetcher.announced(peerId, junk.slice(at, at + 25));
  for (let second = 0; second < 150; second += 1) await run(1);
  for (let at = 0; at < 500; at += 25) fetcher.announced('honest', junk.slice(at, at + 25));
  fetcher.announced('honest', ['good']);
  await run(20);
  t.true(here.has('good'));
});

test('an id that was refused once is requested again while ever new ones are announced', async (t) => {
  const { fetcher, asked, here, run } = setUpFetcher([], (id, peerId) => id === '1' && peerId === 'liar');
  fetcher.announced('liar', ['1']);
  await run(6);
  fetcher.announced('honest', ['fresh', '1']);
  for (let second = 0; second < 60; second += 1) {
    fetcher.announced(
      'honest',
      Array.from({ length: 5 }, (_, index) => `${second} ${index}`),
    );
    await run(1);
  }
  t.true(here.has('1'));
  const requests = asked.filter(({ peerId }) => peerId === 'honest');
  t.is(requests.filter(({ ids }) => ids.includes('1')).length, 1);
  t.true(requests.findIndex(({ ids }) => ids.includes('1')) < AGAIN_EVERY, 'a bounded share');
});

test('a disconnected peer is not asked', async (t) => {
  const { fetcher, asked, run } = setUpFetcher();
  fetcher.announced('a', ['1']);
  fetcher.announced('a', ['2']);
  fetcher.disconnected('a');
  await run(60);
  t.is(asked.length, 1);
});
