/**
 * Tests stores of earlier layouts. A node can read such a store without an upgrade. When a node opens such a store for
 * writing, it upgrades the store in place. If an upgrade fails, or if its process is killed, the store is unchanged.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

import test from 'ava';

import { packageDirectory } from '../../../src/config/package.ts';
import { compareStores } from '../../../src/store/chain/compare.ts';
import {
  chainStoreOver,
  openChainSnapshot,
  openChainStore,
  openMemoryChainStore,
  readChainStore,
} from '../../../src/store/chain/open.ts';
import { restoreDump } from '../../../src/store/disk/dump.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { COUNTED_TABLES, LAYOUT_VERSION, TABLES } from '../../../src/store/tables/layout.ts';
import { readsOf, type KeyValue, type KeyValueReader } from '../../../src/store/tables/key-value.ts';
import type { StoredChain } from '../../../src/store/chain/stored-chain.ts';
import { upgradeStore } from '../../../src/store/chain/upgrade.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { dump, temporaryFolder } from '../backends.ts';
import { countingWrites, makeOlder } from '../older-layouts.ts';
import { followHistory } from '../world.ts';

const UPGRADER = fileURLToPath(new URL('./upgrading-writer.js', import.meta.url));
const fixture = (layout: string): string =>
  join(packageDirectory(), 'test', 'fixtures', 'stores', `layout-${layout}.dump.gz`);
/** Height of the chain in each fixture, and of the chain that `olderStore` makes. */
const HEIGHT = 200;
const OPTIONS = { codec: FAKE_CODEC, params: paramsWith(), shortListMax: 4 };
const ALL = { gte: Buffer.from([0]), lt: Buffer.from([255]) };

/** Makes a store in memory that has the current layout without an upgrade. */
function straight(height: number): StoredChain {
  const store = openMemoryChainStore(OPTIONS);
  followHistory(store, height);
  return store;
}

function rawDump(keys: KeyValueReader): readonly string[] {
  return Array.from(keys.entries(ALL), ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`);
}

/** Makes a store in memory with an earlier layout. After an upgrade, the store must have the content `expected`. */
function olderStore(layout: string): { readonly keys: MemoryKeyValue; readonly expected: readonly string[] } {
  const keys = new MemoryKeyValue();
  followHistory(chainStoreOver(keys, OPTIONS, 'memory'), HEIGHT);
  const expected = rawDump(keys);
  makeOlder(keys, layout);
  return { keys, expected };
}

async function inFolder(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = temporaryFolder();
  try {
    await work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function restoreFixture(directory: string, layout: string): Promise<void> {
  const bytes = gunzipSync(readFileSync(fixture(layout)));
  await restoreDump(
    (async function* () {
      yield bytes;
    })(),
    directory,
  );
}

async function raw<T>(directory: string, work: (keys: KeyValue) => T): Promise<T> {
  const keys = openLmdb(directory, false);
  try {
    return work(keys);
  } finally {
    await keys.close();
  }
}

for (const layout of ['6', '7']) {
  test(`a store of layout ${layout} is read unchanged, and upgraded when it is opened for writing`, async (t) => {
    await inFolder(async (directory) => {
      await restoreFixture(directory, layout);
      const before = await raw(directory, rawDump);
      const expected = straight(HEIGHT);
      const check = (store: StoredChain): void => {
        t.is(store.tip()?.height, HEIGHT);
        t.is(store.stateDigest(), expected.stateDigest());
        t.deepEqual(dump(store), dump(expected));
        t.deepEqual(compareStores(store.tables, expected.tables, () => 0).difference, undefined);
        t.true(store.checkState().finish());
        t.is(store.recordDamage(), undefined);
        for (const name of COUNTED_TABLES) {
          const range = TABLES[name].all;
          const keys = Array.from(expected.tables.keys(range));
          t.true(keys.length > 0, `${name} has keys`);
          t.is(store.tables.count(range), keys.length);
          const offset = keys.length >> 1;
          t.deepEqual(Array.from(store.tables.keys({ ...range, offset, limit: 3 })), keys.slice(offset, offset + 3));
        }
      };
      const reader = await openChainSnapshot({ ...OPTIONS, directory });
      check(reader);
      check(reader.snapshot());
      t.throws(() => reader.transact(() => undefined), { code: 'STORE_READ_ONLY' });
      await reader.close();
      t.deepEqual(await raw(directory, rawDump), before, 'a reader leaves it as it is');

      const upgradedFrom: string[] = [];
      const options = { ...OPTIONS, directory, onUpgrade: (from: string) => upgradedFrom.push(from) };
      const store = await openChainStore(options);
      check(store);
      store.transact((writer) => {
        writer.revert();
        writer.revert();
      });
      followHistory(store, HEIGHT + 20);
      t.deepEqual(dump(store), dump(straight(HEIGHT + 20)));
      await store.close();
      await (await openChainStore(options)).close();
      t.deepEqual(upgradedFrom, [layout], 'once');
      t.is(await raw(directory, (keys) => keys.get(TABLES.meta.key('layout'))?.toString()), String(LAYOUT_VERSION));
    });
  });
}

for (const layout of ['4', '7']) {
  test(`blocks of a store of layout ${layout} are read without the work of an upgrade`, (t) => {
    const { keys } = olderStore(layout);
    let upgrades = 0;
    const watched: KeyValue = {
      ...readsOf(keys),
      entries: (range) => {
        // The upgrade reads the whole table, and nothing else does.
        if (Buffer.compare(range.gte, TABLES.undo.all.gte) === 0) upgrades += 1;
        return keys.entries(range);
      },
      transact: () => t.fail('a reader writes nothing') as never,
      snapshot: () => watched,
      close: () => keys.close(),
    };
    const store = readChainStore(watched, { ...OPTIONS, directory: 'memory' });
    const expected = straight(HEIGHT);
    t.is(store.tip()?.id, expected.tip()?.id);
    for (let height = 1; height <= HEIGHT; height += 1) {
      t.deepEqual(store.block(height), expected.block(height));
      t.deepEqual(store.header(height), expected.header(height));
    }
    t.deepEqual(store.bftState(), expected.bftState());
    t.is(upgrades, 0);
    t.is(store.stateDigest(), expected.stateDigest());
    t.deepEqual(dump(store), dump(expected));
    t.is(upgrades, 1);
  });
}

for (const layout of ['6', '7']) {
  test(`an upgrade from layout ${layout} does not hide a damaged undo record`, async (t) => {
    const { keys } = olderStore(layout);
    const [key] = Array.from(keys.keys(TABLES.undo.all)).slice(-1);
    if (key === undefined) throw new Error('the store has undo records');
    const record = Buffer.from(keys.get(key) ?? []);
    record[record.length >> 1]! ^= 1;
    keys.transact((writer) => writer.put(key, record));
    upgradeStore(keys);
    const store = chainStoreOver(keys, OPTIONS, 'memory');
    t.regex(store.recordDamage() ?? '', /undo record of the block at height \d+ does not match its checksum/);
  });
}

for (const layout of ['4', '5', '6', '7']) {
  test(`a store of layout ${layout} is upgraded to the keys that this version writes`, (t) => {
    const { keys, expected } = olderStore(layout);
    t.notDeepEqual(rawDump(keys), expected);
    const store = chainStoreOver(keys, OPTIONS, 'memory');
    t.deepEqual(rawDump(keys), expected);
    store.transact((writer) => writer.revert());
    t.is(store.tip()?.height, HEIGHT - 1);
  });

  test(`a store of this layout whose layout number became ${layout} by a flipped bit keeps all its data`, (t) => {
    const keys = new MemoryKeyValue();
    followHistory(chainStoreOver(keys, OPTIONS, 'memory'), 60);
    const expected = rawDump(keys);
    keys.transact((writer) => writer.put(TABLES.meta.key('layout'), Buffer.from(layout)));
    chainStoreOver(keys, OPTIONS, 'memory');
    t.deepEqual(rawDump(keys), expected);
  });
}

for (const layout of ['4', '7']) {
  test(`a store of layout ${layout} whose indexes lag is upgraded, then backfilled`, async (t) => {
    await inFolder(async (directory) => {
      const first = await openChainStore({ ...OPTIONS, directory });
      followHistory(first, 10);
      first.deferIndexing();
      followHistory(first, 30);
      const lag = first.indexLag;
      t.true(lag > 0);
      await first.close();
      await raw(directory, (keys) => makeOlder(keys, `${layout} without indexes of transactions above height 10`));
      const lagging = await openChainSnapshot({ ...OPTIONS, directory });
      t.is(lagging.indexLag, lag);
      await lagging.close();
      const lags: number[] = [];
      const again = await openChainStore({ ...OPTIONS, directory, onBackfill: (found) => lags.push(found) });
      t.deepEqual(lags, [lag]);
      t.is(again.indexLag, 0);
      t.deepEqual(dump(again), dump(straight(30)));
      await again.close();
    });
  });
}

test('an upgrade that fails at any write leaves each key unchanged', (t) => {
  const { keys, expected } = olderStore('4');
  const before = rawDump(keys);
  let failures = 0;
  for (let at = 0; ; at += 1 + (at >> 2)) {
    const failing = countingWrites(keys, at, () => {
      throw new Error('no room');
    });
    try {
      chainStoreOver(failing, OPTIONS, 'memory');
      break;
    } catch {
      failures += 1;
      t.deepEqual(rawDump(keys), before);
    }
  }
  t.true(failures > 10);
  t.deepEqual(rawDump(keys), expected);
});

test('a store whose upgrade was killed is unchanged, and the next process upgrades it', async (t) => {
  await inFolder(async (directory) => {
    await restoreFixture(directory, '6');
    const before = await raw(directory, rawDump);
    for (const writes of [0, 40]) {
      const { signal, stderr } = spawnSync(process.execPath, [UPGRADER, directory, String(writes)], {
        encoding: 'utf8',
      });
      t.is(signal, 'SIGKILL', stderr);
      t.deepEqual(await raw(directory, rawDump), before);
    }
    const store = await openChainStore({ ...OPTIONS, directory });
    t.deepEqual(dump(store), dump(straight(HEIGHT)));
    await store.close();
  });
});
