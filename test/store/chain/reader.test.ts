/**
 * Tests a reader of a store while a writer changes the store: which snapshot the reader shows, and how long an old
 * snapshot stays open.
 */

import { rmSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../src/ports/clock.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { ChainReader } from '../../../src/store/chain/reader.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { temporaryFolder } from '../backends.ts';
import { followHistory } from '../world.ts';

const HEIGHT = 20;

/**
 * Opens a store with blocks up to `HEIGHT`, and a reader of the store. The returned function `pass` fires all timers of
 * the reader.
 */
async function setUpReader(t: ExecutionContext) {
  const options = { directory: temporaryFolder(), codec: FAKE_CODEC, params: paramsWith(), shortListMax: 4 };
  const store = await openChainStore(options);
  followHistory(store, HEIGHT);
  const waiting = new Set<() => void>();
  const clock: Clock = {
    nowMs: () => Date.now(),
    after: (_delayMs, work) => {
      waiting.add(work);
      return { cancel: () => waiting.delete(work) };
    },
  };
  const reader = new ChainReader(options, clock);
  t.teardown(async () => {
    await reader.close();
    await store.close();
    rmSync(options.directory, { recursive: true });
  });
  const pass = (): void => {
    for (const work of [...waiting]) work();
  };
  return { store, reader, pass, options, clock };
}

test('a reader that moves shows the last commit, even if it read earlier in the same iteration of the event loop', async (t) => {
  const { store, reader } = await setUpReader(t);
  for (let height = HEIGHT + 1; height < HEIGHT + 6; height += 1) {
    t.is(reader.current.store.block(height), undefined);
    followHistory(store, height);
    t.is(reader.current.store.tip()?.height, height - 1, 'without a move, the moment stays');
    t.true(reader.move());
    t.deepEqual(reader.current.store.tip(), store.tip());
    t.is(reader.current.store.stateDigest(), store.stateDigest());
  }
  store.transact((writer) => {
    writer.revert();
    writer.revert();
  });
  reader.move();
  t.deepEqual(reader.current.store.tip(), store.tip());
  t.is(reader.current.store.stateDigest(), store.stateDigest());
});

test('an old snapshot stays open until its last query is answered, and is then closed', async (t) => {
  const { store, reader, pass } = await setUpReader(t);
  const old = reader.current;
  const digest = store.stateDigest();
  const answers: (() => void)[] = [];
  const asked = [1, 2].map(() =>
    old.hold(async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return old.store.stateDigest();
    }),
  );
  followHistory(store, HEIGHT + 3);
  reader.move();
  for (const [at, answer] of answers.entries()) {
    t.is(old.store.stateDigest(), digest);
    answer();
    t.is(await asked[at], digest);
  }
  t.throws(() => old.store.stateDigest(), { code: 'STORE_CLOSED' });
  t.is(reader.current.store.stateDigest(), store.stateDigest());
  pass();
  t.is(reader.current.store.stateDigest(), store.stateDigest());
});

test('a snapshot without open queries is closed when the reader moves, so that its pages can be used again', async (t) => {
  const { store, reader } = await setUpReader(t);
  const old = reader.current;
  followHistory(store, HEIGHT + 1);
  t.false(reader.move(() => false));
  t.is(reader.current, old);
  t.is(old.store.tip()?.height, HEIGHT);
  reader.move();
  t.throws(() => old.store.stateDigest(), { code: 'STORE_CLOSED' });
});

test('a query that takes too long fails, and the snapshot of newer queries stays open', async (t) => {
  const { store, reader, pass } = await setUpReader(t);
  const old = reader.current;
  let answer: () => void = () => undefined;
  const slow = old.hold(async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    return old.store.stateDigest();
  });
  followHistory(store, HEIGHT + 1);
  reader.move();
  pass();
  answer();
  await t.throwsAsync(slow, { code: 'STORE_CLOSED' });
  t.is(reader.current.store.stateDigest(), store.stateDigest());
});

test('a refused snapshot is closed', async (t) => {
  const { store, reader } = await setUpReader(t);
  followHistory(store, HEIGHT + 1);
  const seen: (() => string)[] = [];
  const refuse = (moment: { stateDigest(): string }): boolean => {
    t.is(moment.stateDigest(), store.stateDigest());
    seen.push(() => moment.stateDigest());
    return false;
  };
  t.false(reader.move(refuse));
  t.throws(() =>
    reader.move((moment) => {
      refuse(moment);
      throw new Error('no');
    }),
  );
  t.is(seen.length, 2);
  for (const look of seen) t.throws(look, { code: 'STORE_CLOSED' });
});

test('a reader keeps its view while the indexes lag, and a reader that starts then is refused', async (t) => {
  const { store, reader, options, clock } = await setUpReader(t);
  store.deferIndexing();
  followHistory(store, HEIGHT + 5);
  t.true(store.indexLag > 0);
  t.false(reader.move());
  t.is(reader.current.store.tip()?.height, HEIGHT);
  t.throws(() => new ChainReader(options, clock), { code: 'STORE_BEHIND' });
  for (const _ of store.backfill({ pagesMax: 1 })) t.is(reader.move(), store.indexLag === 0);
  t.is(reader.current.store.tip()?.height, HEIGHT + 5);
  const late = new ChainReader(options, clock);
  t.is(late.current.store.stateDigest(), store.stateDigest());
  await late.close();
});
