import { rmSync } from 'node:fs';

import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { afterPrefix, type KeyValue, type KeyValueReader } from '../../../src/store/tables/key-value.ts';
import { openLmdb } from '../../../src/store/disk/lmdb.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { BACKENDS, temporaryFolder, type Backend } from '../backends.ts';

async function withKeys(backend: Backend, work: (keys: KeyValue) => void | Promise<void>): Promise<void> {
  if (backend === 'memory') {
    await work(new MemoryKeyValue());
    return;
  }
  const directory = temporaryFolder();
  const keys = openLmdb(directory, true);
  try {
    await work(keys);
  } finally {
    await keys.close();
    rmSync(directory, { recursive: true });
  }
}

/** Few different keys, so that ranges often start and end at existing keys. */
const byte = fc.constantFrom(1, 2, 127, 128, 255);
const key = fc
  .tuple(fc.constantFrom(1, 2, 200), fc.array(byte, { maxLength: 2 }))
  .map(([first, rest]) => Buffer.from([first, ...rest]));
const value = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const write = fc.record({ key, value: fc.option(value, { nil: undefined }) });
const batch = fc.record({ writes: fc.array(write, { maxLength: 30 }), fails: fc.boolean() });
const range = fc.record({
  from: key,
  to: key,
  reverse: fc.boolean(),
  limit: fc.option(fc.nat(10), { nil: undefined }),
  offset: fc.option(fc.nat(10), { nil: undefined }),
});

for (const backend of BACKENDS) {
  test(`${backend}: keys behave like a sorted list that failed transactions do not change`, async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(batch, { maxLength: 6 }),
        fc.array(range, { minLength: 5, maxLength: 5 }),
        async (batches, ranges) => {
          await withKeys(backend, (keys) => {
            const model = new Map<string, string>();
            for (const { writes, fails } of batches) {
              const work = (): void =>
                keys.transact((writer) => {
                  for (const one of writes) {
                    if (one.value === undefined) writer.remove(one.key);
                    else writer.put(one.key, one.value);
                    t.deepEqual(writer.get(one.key), one.value);
                  }
                  if (fails) throw new Error('reverted');
                });
              if (fails) {
                t.throws(work, { message: 'reverted' });
                continue;
              }
              work();
              for (const one of writes) {
                if (one.value === undefined) model.delete(one.key.toString('hex'));
                else model.set(one.key.toString('hex'), one.value.toString('hex'));
              }
            }
            const sorted = [...model.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
            for (const { from, to, reverse, limit, offset } of ranges) {
              const inside = sorted.filter(([hex]) => hex >= from.toString('hex') && hex < to.toString('hex'));
              const asked = {
                gte: from,
                lt: to,
                reverse,
                ...(limit === undefined ? {} : { limit }),
                ...(offset === undefined ? {} : { offset }),
              };
              const skip = offset ?? 0;
              const expected = (reverse ? [...inside].reverse() : inside).slice(skip, skip + (limit ?? Infinity));
              t.deepEqual(
                Array.from(keys.entries(asked), (entry) => [entry.key.toString('hex'), entry.value.toString('hex')]),
                expected,
              );
              t.deepEqual(
                Array.from(keys.keys(asked), (one) => one.toString('hex')),
                expected.map(([hex]) => hex),
              );
              t.is(keys.count(asked), inside.length);
            }
          });
        },
      ),
      { numRuns: backend === 'memory' ? 200 : 30 },
    );
  });
}

for (const backend of BACKENDS) {
  test(`${backend}: values of all sizes stay unchanged while other values are read`, async (t) => {
    await withKeys(backend, (keys) => {
      const valueOf = (at: number): Buffer =>
        Buffer.alloc([0, 1, 100, 4096, 4097, 9000, 40_000][at] ?? 200_000, at + 1);
      const keyOf = (at: number): Buffer => Buffer.from([3, at]);
      const sizes = Array.from({ length: 8 }, (_, at) => at);
      const check = (reader: KeyValueReader): void => {
        const values = [...sizes, ...sizes.toReversed()].map((at) => ({ at, value: reader.get(keyOf(at)) }));
        for (const { at, value } of values) t.deepEqual(value, valueOf(at));
        for (const at of sizes) {
          const copy = reader.withValue(keyOf(at), (value) => Buffer.from(value));
          t.deepEqual(copy, valueOf(at));
        }
        t.is(reader.get(keyOf(99)), undefined);
        t.is(
          reader.withValue(keyOf(99), () => 'called'),
          undefined,
        );
      };
      keys.transact((writer) => {
        for (const at of sizes) writer.put(keyOf(at), valueOf(at));
        check(writer);
      });
      check(keys);
      const snapshot = keys.snapshot();
      keys.transact((writer) => {
        for (const at of sizes) writer.put(keyOf(at), Buffer.from('changed'));
      });
      check(snapshot);
    });
  });

  test(`${backend}: each kind of read of a snapshot shows the keys at its creation, in every later turn`, async (t) => {
    await withKeys(backend, async (keys) => {
      const keyOf = (at: number): Buffer => Buffer.from([3, at]);
      const whole = { gte: Buffer.from([3]), lt: Buffer.from([4]) };
      /** Removes the even keys below `from`, and writes all keys from `from` on. */
      const write = (from: number, value: string): void => {
        keys.transact((writer) => {
          for (let at = 0; at < 40; at += 1) {
            if (at % 2 === 0) writer.remove(keyOf(at));
            if (at >= from) writer.put(keyOf(at), Buffer.from(value));
          }
        });
      };
      const reads = (reader: KeyValueReader): unknown => ({
        values: Array.from({ length: 40 }, (_, at) => reader.get(keyOf(at))?.toString()),
        shared: Array.from({ length: 40 }, (_, at) => reader.withValue(keyOf(at), String)),
        entries: Array.from(reader.entries(whole), ({ key, value }) => `${key.toString('hex')} ${value.toString()}`),
        keys: Array.from(reader.keys({ ...whole, reverse: true, offset: 3, limit: 20 }), (key) => key.toString('hex')),
        count: reader.count(whole),
      });
      write(10, 'first');
      const snapshot = keys.snapshot();
      const expected = reads(keys);
      for (const from of [20, 0, 39]) {
        write(from, `later ${from}`);
        t.notDeepEqual(reads(keys), expected);
        t.deepEqual(reads(snapshot), expected);
        const again = snapshot.snapshot();
        t.deepEqual(reads(again), expected);
        await again.close();
        // The library `lmdb` begins a new read transaction in each iteration of the event loop.
        await new Promise((resolve) => setTimeout(resolve, 1));
        t.deepEqual(reads(snapshot), expected);
      }
      await snapshot.close();
    });
  });

  test(`${backend}: thousands of keys stay in order through inserts, range deletions and new inserts`, async (t) => {
    await withKeys(backend, (keys) => {
      const keyOf = (number: number): Buffer => Buffer.from([1, number >> 8, number & 255]);
      const present = new Set<number>();
      const change = (from: number, to: number, step: number, isThere: boolean): void => {
        keys.transact((writer) => {
          for (let number = from; number < to; number += step) {
            if (isThere) writer.put(keyOf(number), keyOf(number));
            else writer.remove(keyOf(number));
            if (isThere) present.add(number);
            else present.delete(number);
          }
        });
        const expected = [...present].sort((a, b) => a - b);
        const whole = { gte: Buffer.from([1]), lt: Buffer.from([2]) };
        t.deepEqual(
          Array.from(keys.keys(whole), (key) => key.readUInt16BE(1)),
          expected,
        );
        t.deepEqual(
          Array.from(keys.keys({ ...whole, reverse: true }), (key) => key.readUInt16BE(1)),
          expected.reverse(),
        );
        t.is(keys.count({ gte: keyOf(1500), lt: keyOf(3000) }), expected.filter((n) => n >= 1500 && n < 3000).length);
      };
      change(0, 4000, 1, true);
      change(500, 2500, 1, false);
      change(501, 2500, 3, true);
      change(0, 4000, 2, false);
      change(0, 4000, 1, false);
      change(10, 20, 1, true);
    });
  });
}

test('the end of a prefix is just above all keys that begin with it', (t) => {
  t.deepEqual(afterPrefix(Buffer.from([1, 2])), Buffer.from([1, 3]));
  t.deepEqual(afterPrefix(Buffer.from([1, 255, 255])), Buffer.from([2]));
});
