/** Whom a node asks for announced transactions, and how often. */

import test from 'ava';

import { TransactionFetcher } from '../../src/engine/transaction-fetcher.ts';
import type { Transport } from '../../src/ports/transport.ts';
import { VirtualTime } from '../sim/virtual-clock.ts';

interface Asked {
  readonly atMs: number;
  readonly peerId: string;
  readonly ids: readonly string[];
}

/** @param silent peers that never answer */
function scene(silent: readonly string[] = []) {
  const time = new VirtualTime(0);
  const asked: Asked[] = [];
  const here = new Set<string>();
  const request = (peerId: string, { ids = [] }: { readonly ids?: readonly string[] }): Promise<unknown> => {
    asked.push({ atMs: time.nowMs, peerId, ids });
    if (silent.includes(peerId)) return new Promise(() => undefined);
    return Promise.resolve(ids);
  };
  const fetcher = new TransactionFetcher({
    clock: time.clock(),
    transport: { request: request as unknown as Transport['request'] },
    rate: { burst: 1, everyMs: 5_000 },
    has: (id) => here.has(id),
    take: (_peerId, transactions) => {
      for (const id of transactions as readonly string[]) here.add(id);
      return Promise.resolve();
    },
    failed: () => undefined,
  });
  const run = async (seconds: number): Promise<void> => {
    // Answers that are there are taken first.
    await new Promise((resolve) => setImmediate(resolve));
    await time.runUntil(time.nowMs + seconds * 1000);
  };
  return { fetcher, asked, here, run };
}

test('what several peers announce is asked of one', async (t) => {
  const { fetcher, asked, run } = scene();
  for (const peerId of ['a', 'b', 'c']) fetcher.announced(peerId, ['1', '2']);
  await run(30);
  t.deepEqual(asked, [{ atMs: 0, peerId: 'a', ids: ['1', '2'] }]);
});

test('a peer that does not answer hides nothing: another is asked after moments', async (t) => {
  const { fetcher, asked, here, run } = scene(['liar']);
  fetcher.announced('liar', ['1']);
  fetcher.announced('honest', ['1']);
  await run(3);
  t.true(here.has('1'));
  t.deepEqual(
    asked.map(({ peerId }) => peerId),
    ['liar', 'honest'],
  );
});

test('what never came is as never asked for after a minute', async (t) => {
  const { fetcher, asked, run } = scene(['liar']);
  fetcher.announced('liar', ['1']);
  await run(30);
  fetcher.announced('other', ['2']);
  await run(29);
  // Within the minute nobody is waited for a second time.
  fetcher.announced('a', ['1']);
  t.deepEqual(asked.at(-1), { atMs: 59_000, peerId: 'a', ids: ['1'] });
  t.is(asked.length, 3);

  const late = scene(['liar', 'second']);
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

test('a peer that announces every second is asked every five seconds, and never for more ids than it announced at once', async (t) => {
  const { fetcher, asked, here, run } = scene();
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

test('what came another way is not asked for when its turn comes', async (t) => {
  const { fetcher, asked, here, run } = scene();
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

test('the question for the pool counts as well, and a peer that comes back finds its rate where it was', async (t) => {
  const { fetcher, asked, run } = scene();
  await fetcher.pool('a');
  fetcher.disconnected('a');
  await t.throwsAsync(fetcher.pool('a'), { code: 'REQUEST_FAILED' });
  fetcher.announced('a', ['1']);
  await run(4);
  t.is(asked.length, 1);
  await run(2);
  t.is(asked.length, 2);
});

test('a peer that is gone is not asked', async (t) => {
  const { fetcher, asked, run } = scene();
  fetcher.announced('a', ['1']);
  fetcher.announced('a', ['2']);
  fetcher.disconnected('a');
  await run(60);
  t.is(asked.length, 1);
});
