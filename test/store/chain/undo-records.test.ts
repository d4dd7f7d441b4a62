/** Tests how a store treats damaged undo records, and a damaged note (`StoredChain.note`) of the finalized height. */

import test from 'ava';
import type { KeyValueEntry } from '../../../src/store/tables/key-value.ts';
import { TABLES } from '../../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { chainStoreOver } from '../../../src/store/chain/open.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';
import { dump } from '../backends.ts';
import { followHistory } from '../world.ts';

const HEIGHT = 20;

function setUpStore() {
  const keys = new MemoryKeyValue();
  const open = () => chainStoreOver(keys, { codec: FAKE_CODEC, params: paramsWith(), shortListMax: 4 }, '/data/chain');
  const store = open();
  followHistory(store, HEIGHT);
  const write = (entries: readonly KeyValueEntry[]): void =>
    keys.transact((writer) => {
      for (const { key, value } of entries) writer.put(key, value);
    });
  const tipKey = TABLES.undo.key(HEIGHT);
  return { keys, store, open, write, tipKey, tipRecord: Buffer.from(keys.get(tipKey) ?? []) };
}

test('a record with a flipped bit is not applied: nothing is reverted, and the store counts as damaged', async (t) => {
  const { store, write, tipKey, tipRecord } = setUpStore();
  t.is(store.recordDamage(), undefined);
  for (let at = 0; at < tipRecord.length; at += 1) {
    const record = Buffer.from(tipRecord);
    record[at] = (record[at] ?? 0) ^ (1 << (at % 8));
    write([{ key: tipKey, value: record }]);
    const before = dump(store);
    const error = t.throws(() => store.transact((writer) => writer.revert()), { code: 'STORE_DAMAGED' });
    t.regex(
      error?.message ?? '',
      /^The chain store in \/data\/chain is damaged: .*height 20.*Restore it from a backup/,
    );
    t.deepEqual(dump(store), before);
    t.is(store.tip()?.height, HEIGHT);
    t.regex(store.recordDamage() ?? '', /height 20/);
  }
  t.is((await store.damaged).code, 'STORE_DAMAGED');
  write([{ key: tipKey, value: tipRecord }]);
  store.transact((writer) => writer.revert());
  t.is(store.tip()?.height, HEIGHT - 1);
  t.true(store.checkState().finish());
});

test('a record that is truncated, empty, longer or of another block is not applied', (t) => {
  const { keys, store, write, tipKey, tipRecord } = setUpStore();
  const other = Buffer.from(keys.get(TABLES.undo.key(HEIGHT - 1)) ?? []);
  const longer = Buffer.concat([tipRecord, Buffer.alloc(1)]);
  for (const value of [tipRecord.subarray(0, -1), tipRecord.subarray(0, 3), Buffer.alloc(0), longer, other]) {
    write([{ key: tipKey, value }]);
    t.throws(() => store.transact((writer) => writer.revert()), { code: 'STORE_DAMAGED' });
  }
});

test('a corrupted note of the finalized height is not used, and the store counts as damaged', async (t) => {
  const { keys, store, open, write } = setUpStore();
  const key = TABLES.notes.key('chain/finalized');
  const height = Buffer.from([7, 0, 0, 0]);
  store.transact((writer) => writer.setNote('chain/finalized', height));
  t.deepEqual(store.note('chain/finalized'), height);
  t.deepEqual(open().note('chain/finalized'), height);
  t.is(store.recordDamage(), undefined);
  const record = Buffer.from(keys.get(key) ?? []);
  const flipped = Array.from({ length: record.length * 8 }, (_, bit) => {
    const changed = Buffer.from(record);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return changed;
  });
  for (const value of [...flipped, record.subarray(0, -1), Buffer.alloc(0)]) {
    write([{ key, value }]);
    t.throws(() => store.note('chain/finalized'), { code: 'STORE_DAMAGED', message: /note of the finalized height/ });
    t.regex(store.recordDamage() ?? '', /note of the finalized height/);
  }
  t.is((await store.damaged).code, 'STORE_DAMAGED');
  // The store accepts the format of earlier versions, which wrote the note without a checksum.
  write([{ key, value: height }]);
  t.deepEqual(store.note('chain/finalized'), height);
  t.is(store.recordDamage(), undefined);
});
