import { rmSync } from 'node:fs';
import test from 'ava';
import type { BlockQuery, TransactionQuery } from '../../../src/ports/queries.ts';
import { BackgroundQueries, ITEMS_KEPT_MAX, sortInChunks } from '../../../src/store/query/background-queries.ts';
import { openChainStore } from '../../../src/store/chain/open.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { BACKENDS, temporaryFolder, withStore } from '../backends.ts';
import { Dice, nextStep } from '../world.ts';

function grow(store: StoredChain, dice: Dice, blocks: number): void {
  for (let i = 0; i < blocks; i += 1) {
    store.transact((writer) => {
      const { block, apply } = nextStep(dice, writer.tip());
      writer.append(block, apply);
    });
  }
}

/**
 * No index combines an amount with a time, so a store must read and sort the candidates of this query. With
 * `atOnceMax: 0`, this happens in the background.
 */
const QUERY: TransactionQuery = {
  minAmount: 1n,
  fromTimestampS: 1,
  sort: { field: 'fee', direction: 'desc' },
  limit: 100,
  offset: 0,
};

for (const backend of BACKENDS) {
  test(`${backend}: a long query is answered for the chain at the start of its turn, despite changes`, async (t) => {
    await withStore(backend, async (store) => {
      const dice = new Dice(4);
      grow(store, dice, 30);
      for (const sortedMax of [0, 1000]) {
        let pauses = 0;
        const pause = async () => {
          pauses += 1;
          if (pauses > 20) return;
          // The test reverts blocks with transactions that the query reads, and appends other blocks.
          store.transact((writer) => {
            writer.revert();
            writer.revert();
          });
          grow(store, dice, 2);
        };
        const asked = createQueries(store, paramsWith(), { pause, atOnceMax: 0, sortedMax });
        const expected = await createQueries(store, paramsWith()).transactions(QUERY);
        const answer = await asked.transactions(QUERY);
        t.true(pauses > 0);
        t.deepEqual(answer, expected);
      }
    });
  });

  test(`${backend}: a query that waited is answered for the chain at the start of its turn, with its new blocks`, async (t) => {
    await withStore(backend, async (store) => {
      const dice = new Dice(5);
      grow(store, dice, 30);
      const { timestamp } = store.header(3)!;
      for (const change of [() => grow(store, dice, 4), () => store.transact((writer) => writer.revert())]) {
        let isChanged = false;
        const pause = async () => {
          if (!isChanged) change();
          isChanged = true;
        };
        const asked = createQueries(store, paramsWith(), { pause, atOnceMax: 0, sortedMax: 1000 });
        const query: BlockQuery = {
          fromTimestampS: timestamp,
          sort: { field: 'totalFee', direction: 'desc' },
          limit: 100,
          offset: 0,
        };
        const [, answer] = await Promise.all([asked.transactions(QUERY), asked.blocks(query)]);
        t.true(isChanged);
        t.deepEqual(answer, await createQueries(store, paramsWith()).blocks(query));
      }
    });
  });

  test(`${backend}: a list that was collected while the chain changed is not reused for later queries`, async (t) => {
    await withStore(backend, async (store) => {
      const dice = new Dice(6);
      grow(store, dice, 30);
      let isChanging = true;
      const pause = async () => {
        if (!isChanging) return;
        isChanging = false;
        store.transact((writer) => {
          for (let i = 0; i < 10; i += 1) writer.revert();
        });
        grow(store, dice, 5);
      };
      const asked = createQueries(store, paramsWith(), { pause, atOnceMax: 0, sortedMax: 1000 });
      const before = await asked.transactions(QUERY);
      t.false(isChanging);
      const expected = await createQueries(store, paramsWith()).transactions(QUERY);
      t.notDeepEqual(expected, before);
      t.deepEqual(await asked.transactions(QUERY), expected);
    });
  });

  test(`${backend}: a snapshot shows the store at its creation, until it is closed`, async (t) => {
    await withStore(backend, async (store) => {
      const dice = new Dice(9);
      grow(store, dice, 5);
      const [digest, tip] = [store.stateDigest(), store.tip()];
      const snapshot = store.snapshot();
      grow(store, dice, 5);
      t.not(store.stateDigest(), digest);
      t.is(snapshot.stateDigest(), digest);
      t.deepEqual(snapshot.tip(), tip);
      t.is(snapshot.block(6), undefined);
      await snapshot.close();
    });
  });
}

test('a snapshot of a closed store is refused, and the process continues', async (t) => {
  const directory = temporaryFolder();
  t.teardown(() => rmSync(directory, { recursive: true }));
  const store = await openChainStore({ directory, codec: FAKE_CODEC, params: paramsWith() });
  grow(store, new Dice(1), 3);
  const snapshot = store.snapshot();
  await store.close();
  t.throws(() => snapshot.stateDigest(), { code: 'STORE_CLOSED' });
  await snapshot.close();
});

test('long queries wait in a queue of limited length, and a list is made once per tip', async (t) => {
  await withStore('memory', async (store) => {
    const dice = new Dice(2);
    grow(store, dice, 3);
    const work = new BackgroundQueries(store, { pause: () => Promise.resolve(), atOnceMax: 0, sortedMax: 0 });
    let made = 0;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const ask = (name: string) =>
      work.read(
        name,
        async () => {
          made += 1;
          await gate;
          return [made];
        },
        (list) => list[0],
      );
    const waiting = Array.from({ length: 16 }, (_, i) => ask(`list ${i % 8}`));
    await t.throwsAsync(ask('one more'), { code: 'QUERIES_BUSY' });
    open();
    t.deepEqual(await Promise.all(waiting), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    t.is(await ask('list 3'), 4);
    grow(store, dice, 1);
    t.is(await ask('list 3'), 9, 'the chain has changed');
  });
});

test('a list that is too long to stay in memory leaves the other lists there', async (t) => {
  await withStore('memory', async (store) => {
    grow(store, new Dice(2), 3);
    const work = new BackgroundQueries(store, { pause: () => Promise.resolve(), atOnceMax: 0, sortedMax: 0 });
    let made = 0;
    const ask = (name: string, length: number) =>
      work.read(
        name,
        () => {
          made += 1;
          return Promise.resolve(new Array<number>(length));
        },
        (list) => list.length,
      );
    await ask('short', 1);
    t.is(await ask('long', ITEMS_KEPT_MAX + 1), ITEMS_KEPT_MAX + 1);
    await ask('short', 1);
    t.is(made, 2);
  });
});

test('a failed query does not stop the next one', async (t) => {
  await withStore('memory', async (store) => {
    grow(store, new Dice(2), 1);
    const work = new BackgroundQueries(store, { pause: () => Promise.resolve(), atOnceMax: 0, sortedMax: 0 });
    const failing = work.read(
      'a',
      () => Promise.reject(new Error('no')),
      () => 1,
    );
    const next = work.read(
      'b',
      () => Promise.resolve([5]),
      (list) => list[0],
    );
    await t.throwsAsync(failing, { message: 'no' });
    t.is(await next, 5);
  });
});

test('sorting in chunks equals sorting, and equal items keep their order', async (t) => {
  const items = Array.from({ length: 50_001 }, (_, i) => ({ value: (i * 7919) % 1000, i }));
  let pauses = 0;
  const sorted = await sortInChunks(
    items,
    (a, b) => a.value - b.value,
    async () => void (pauses += 1),
  );
  t.true(pauses > 25);
  t.true(
    sorted.every(
      (item, at) =>
        at === 0 ||
        (sorted[at - 1]?.value ?? 0) < item.value ||
        (sorted[at - 1]?.value === item.value && (sorted[at - 1]?.i ?? 0) < item.i),
    ),
  );
  t.is(sorted.length, items.length);
  t.deepEqual(
    await sortInChunks(
      [],
      () => 0,
      () => Promise.resolve(),
    ),
    [],
  );
});
