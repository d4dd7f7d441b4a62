import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { buildTree } from '../../../src/store/index/build-tree.ts';
import { CountedKeySets } from '../../../src/store/index/counted-key-sets.ts';
import { InnerBlock } from '../../../src/store/index/inner-block.ts';
import { KeyBlock } from '../../../src/store/index/key-block.ts';
import { BLOCK_SIZES } from '../../../src/store/index/leaf-blocks.ts';
import { prefixRange, type KeyRange, type KeyValue, type KeyValueWriter } from '../../../src/store/tables/key-value.ts';
import { TABLES } from '../../../src/store/tables/layout.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';

const TABLE = TABLES.transactionsByFee.number;
const EMPTY = Buffer.alloc(0);

function keyOf(number: number): Buffer {
  const key = Buffer.alloc(5);
  key[0] = TABLE;
  key.writeUInt32BE(number, 1);
  return key;
}

/** Returns a `KeyBlock` of `keys`, which lie one after another in `memory`. */
function blockOf(memory: Buffer, keys: readonly Buffer[]): KeyBlock {
  let end = 0;
  return KeyBlock.of(
    memory,
    keys.map(({ length }) => (end += length)),
  );
}

/** Compares the bytes, because a test framework would take long to print a difference of so many keys. */
function isSame(keys: Iterable<Buffer>, expected: readonly Buffer[]): boolean {
  return Buffer.concat([...keys]).equals(Buffer.concat(expected));
}

/**
 * A step writes or removes the keys of `count` numbers. The numbers begin with `from` and have the distance `by`. Leaf
 * blocks split if a step writes many keys.
 */
const step = fc.record({
  from: fc.nat(3000),
  count: fc.integer({ min: 1, max: 1500 }),
  remove: fc.boolean(),
  /**
   * Distance between the numbers. If two steps have different distances, the second step can write keys between the
   * keys of the first step.
   */
  by: fc.integer({ min: 1, max: 3 }),
  /**
   * If true, the step writes all its keys with one call of `putSorted`. The value has no effect on a step that removes
   * keys or fails.
   */
  sorted: fc.boolean(),
  fail: fc.boolean(),
});

const query = fc.record({
  from: fc.nat(4000),
  span: fc.nat(4000),
  offset: fc.nat(3000),
  reverse: fc.boolean(),
});

/**
 * Sizes of leaf and inner blocks. With the first sizes, the trees have one level. With the second sizes, a tree of a
 * thousand keys has four or more levels.
 */
const SIZES = [BLOCK_SIZES, { leafBytesMax: 80, leafBytesCut: 40, innerBytesMax: 80, innerBytesCut: 40 }] as const;

test('a counted key set gives the ranges, offsets and counts of a plain list, also after a reopen', (t) => {
  const some = [fc.array(step, { maxLength: 8 }), fc.array(query, { maxLength: 12 })] as const;
  fc.assert(
    fc.property(...some, fc.constantFrom(...SIZES), (steps, queries, sizes) => {
      const disk = new MemoryKeyValue();
      const counted = new CountedKeySets(disk, sizes);
      const plain = new MemoryKeyValue();
      for (const { from, count, remove, by, sorted, fail } of steps) {
        const keys = Array.from({ length: count }, (_, index) => keyOf(from + index * by));
        const write = (writer: KeyValueWriter): void => {
          for (const key of keys) {
            if (remove) writer.remove(key);
            else writer.put(key, EMPTY);
          }
          if (fail) throw new Error('no');
        };
        const work = [
          () =>
            counted.transact((writer) => {
              if (!sorted || remove || fail) return write(writer);
              const memory = Buffer.concat(keys);
              writer.putSorted(blockOf(memory, keys));
              memory.fill(0);
            }),
          () => plain.transact(write),
        ];
        for (const each of work) {
          if (fail) t.throws(each);
          else each();
        }
      }
      t.is(counted.wrongBlock(), undefined);
      for (const subject of [counted, new CountedKeySets(disk, sizes)]) {
        for (const { from, span, offset, reverse } of queries) {
          const range: KeyRange = { gte: keyOf(from), lt: keyOf(from + span), offset, reverse, limit: 5 };
          t.deepEqual(Array.from(subject.keys(range)), Array.from(plain.keys(range)));
          t.is(subject.count(range), plain.count(range));
        }
        const whole = TABLES.transactionsByFee.all;
        t.is(subject.count(whole), plain.count(whole));
        const deep = { ...whole, offset: 900, limit: 3, reverse: true };
        t.deepEqual(Array.from(subject.entries(deep)), Array.from(plain.entries(deep)));
      }
    }),
    { numRuns: 40 },
  );
});

test('leaf blocks are split before they grow large, and empty ones are removed', (t) => {
  const disk = new MemoryKeyValue();
  const counted = new CountedKeySets(disk);
  const numbers = Array.from({ length: 5000 }, (_, i) => (i * 7919) % 5000);
  counted.transact((writer) => {
    for (const number of numbers) writer.put(keyOf(number), EMPTY);
  });
  const blocks = () => Array.from(disk.entries(TABLES.innerBlocks.all), ({ value }) => value);
  const sizes = () => blocks().flatMap((value) => InnerBlock.read(1, EMPTY, value).sizes);
  const values = () => Array.from(disk.entries(prefixRange(Buffer.from([TABLE]))), ({ value }) => value.length);
  t.is(
    sizes().reduce((sum, size) => sum + size, 0),
    5000,
  );
  t.true(sizes().length >= 5 && sizes().every((size) => size > 0) && values().every((bytes) => bytes <= 8000));
  t.is(values().length, sizes().length);
  t.is(counted.wrongBlock(), undefined);
  counted.transact((writer) => {
    for (const number of numbers) writer.remove(keyOf(number));
  });
  t.deepEqual([...blocks(), ...values()], []);
});

test('the first query after a reopen reads as little of a long table as of a short table', (t) => {
  const readsOf = (keys: number): number => {
    const disk = new MemoryKeyValue();
    new CountedKeySets(disk).transact((writer) => {
      writer.putSorted(KeyBlock.from(Array.from({ length: keys }, (_, index) => keyOf(index))));
    });
    let reads = 0;
    const counting: KeyValue = {
      get: (key) => {
        reads += 1;
        return disk.get(key);
      },
      withValue: (key, work) => {
        reads += 1;
        return disk.withValue(key, work);
      },
      entries: (range) => disk.entries(range),
      *keys(range) {
        for (const key of disk.keys(range)) {
          reads += 1;
          yield key;
        }
      },
      count: (range) => disk.count(range),
      transact: (work) => disk.transact(work),
      snapshot: () => counting,
      close: () => disk.close(),
    };
    const counted = new CountedKeySets(counting);
    const whole = TABLES.transactionsByFee.all;
    t.is(counted.count(whole), keys);
    t.deepEqual([...counted.keys({ ...whole, offset: keys >> 1, limit: 1 })], [keyOf(keys >> 1)]);
    t.deepEqual([...counted.keys({ ...whole, reverse: true, limit: 1 })], [keyOf(keys - 1)]);
    return reads;
  };
  const [few, many] = [readsOf(5_000), readsOf(500_000)];
  t.true(many <= few + 3, `${few} reads of a short table, ${many} of a long one`);
});

test('keys that arrive together and split several leaf blocks are in order with the existing ones', (t) => {
  const disk = new MemoryKeyValue();
  const counted = new CountedKeySets(disk);
  const stored = Array.from({ length: 20_000 }, (_, index) => index * 10);
  counted.transact((writer) => {
    for (const number of stored) writer.put(keyOf(number), EMPTY);
  });
  // The new keys form four groups. The leaf blocks between two groups get no new keys.
  const coming = Array.from({ length: 100_000 }, (_, index) => index * 2).filter((number) => number % 60_000 < 30_000);
  const expected = [...new Set([...stored, ...coming])].sort((a, b) => a - b).map(keyOf);
  const whole = TABLES.transactionsByFee.all;
  const leaves = (): number => Array.from(disk.keys(whole)).length;
  const before = leaves();
  counted.transact((writer) => {
    writer.putSorted(KeyBlock.from(coming.map(keyOf)));
    t.true(isSame(writer.keys(whole), expected));
    t.true(isSame(writer.keys({ ...whole, reverse: true }), expected.toReversed()));
  });
  t.true(leaves() >= before + 8, `${before} leaves, then ${leaves()}`);
  for (const subject of [counted, new CountedKeySets(disk)]) {
    t.true(isSame(subject.keys(whole), expected));
    t.is(subject.count(whole), expected.length);
    t.is(subject.wrongBlock(), undefined);
  }
});

test('a leaf block that was changed from outside is named', (t) => {
  const make = (): MemoryKeyValue => {
    const disk = new MemoryKeyValue();
    new CountedKeySets(disk).transact((writer) => {
      for (let number = 0; number < 3000; number += 1) writer.put(keyOf(number), EMPTY);
    });
    return disk;
  };
  const [, second] = Array.from(make().entries(prefixRange(Buffer.from([TABLE]))));
  const { key, value } = second!;
  const turned = Buffer.from(value);
  turned[turned.length - 1] = (turned.at(-1) ?? 0) ^ 0xff;
  const damages: readonly (readonly [Buffer, Buffer | undefined])[] = [
    [key, turned],
    [key, value.subarray(0, -1)],
    [key, Buffer.from([9])],
    [key, undefined],
    [Buffer.concat([key, Buffer.from([1])]), value],
    [TABLES.innerBlocks.key(TABLE, 1, key.subarray(1)), Buffer.from([0, 0, 0, 1])],
    [TABLES.innerBlocks.key(TABLE, 1, EMPTY), undefined],
    [TABLES.innerBlocks.key(TABLE, 1, EMPTY), Buffer.from([0, 0])],
    [TABLES.innerBlocks.key(TABLE, 1, EMPTY), Buffer.from([9])],
    [TABLES.innerBlocks.key(TABLE, 2, EMPTY), Buffer.from([9])],
  ];
  for (const [where, what] of damages) {
    const disk = make();
    disk.transact((writer) => (what === undefined ? writer.remove(where) : writer.put(where, what)));
    const counted = new CountedKeySets(disk);
    t.is(counted.wrongBlock()?.[0], TABLE, where.toString('hex'));
    // The iteration ends, whatever the damage is.
    t.true([...counted.keys(prefixRange(Buffer.from([TABLE])))].length <= 3000);
  }
});

test('a walk over several tables visits the keys of all, in both directions and from any position', (t) => {
  const disk = new MemoryKeyValue();
  const counted = new CountedKeySets(disk);
  const plain = new MemoryKeyValue();
  for (const keys of [counted, plain]) {
    keys.transact((writer) => {
      for (let table = TABLE - 3; table < TABLE + 4; table += 1) {
        for (let i = 0; i < 5; i += 1) writer.put(Buffer.from([table, i * 3]), EMPTY);
      }
    });
  }
  for (let offset = 0; offset < 40; offset += 1) {
    for (const reverse of [false, true]) {
      const range = { gte: Buffer.from([TABLE - 2, 4]), lt: Buffer.from([TABLE + 2, 8]), offset, reverse, limit: 7 };
      t.deepEqual(Array.from(counted.keys(range)), Array.from(plain.keys(range)), `${offset} ${reverse}`);
      t.is(counted.count(range), plain.count(range));
    }
  }
  t.deepEqual(counted.get(Buffer.from([TABLE, 3])), EMPTY);
  t.is(counted.get(Buffer.from([TABLE, 4])), undefined);
});

test('hundreds of thousands of keys are written in parts, and all or none of them are stored', (t) => {
  const disk = new MemoryKeyValue();
  const counted = new CountedKeySets(disk);
  counted.transact((writer) => {
    for (let number = 0; number < 1000; number += 1) writer.put(keyOf(number * 700), EMPTY);
  });
  const before = Array.from(disk.entries(prefixRange(Buffer.from([TABLE]))));
  const keys = KeyBlock.from(Array.from({ length: 400_000 }, (_, index) => keyOf(index * 2)));
  const whole = TABLES.transactionsByFee.all;
  const put = (fail: boolean) =>
    counted.transact((writer) => {
      writer.putSorted(keys);
      // Keys that `putSorted` has already written can be read, changed and counted like keys that are still in memory.
      writer.put(keyOf(3), EMPTY);
      writer.remove(keyOf(4));
      t.is(writer.count(whole), 400_000);
      t.deepEqual(writer.get(keyOf(6)), EMPTY);
      if (fail) throw new Error('no');
    });
  t.throws(() => put(true));
  t.deepEqual(Array.from(disk.entries(prefixRange(Buffer.from([TABLE])))), before);
  t.is(counted.count(whole), 1000);
  put(false);
  for (const subject of [counted, new CountedKeySets(disk)]) {
    t.is(subject.count(whole), 400_000);
    t.deepEqual([...subject.keys({ ...whole, limit: 4 })], [0, 2, 3, 6].map(keyOf));
    t.is(subject.wrongBlock(), undefined);
  }
});

test('inner blocks rebuilt from the leaf blocks answer like those that grew with them', (t) => {
  const numbers = fc.uniqueArray(fc.nat(5000), { minLength: 1, maxLength: 400 });
  fc.assert(
    fc.property(numbers, fc.nat(399), fc.constantFrom(...SIZES), (some, removed, sizes) => {
      const disk = new MemoryKeyValue();
      const grown = new CountedKeySets(disk, sizes);
      const keys = some.toSorted((a, b) => a - b).map(keyOf);
      grown.transact((writer) => {
        for (const key of keys) writer.put(key, EMPTY);
      });
      // In some runs, these removals leave the first leaf block without keys.
      const gone = keys.splice(0, Math.min(removed, keys.length - 1));
      grown.transact((writer) => {
        for (const key of gone) writer.remove(key);
      });
      disk.transact((writer) => {
        for (const key of Array.from(writer.keys(TABLES.innerBlocks.range(TABLE)))) writer.remove(key);
        const leaves = Array.from(writer.entries(TABLES.transactionsByFee.all), ({ key, value }) => {
          return { start: key, size: KeyBlock.read(value).size };
        });
        for (const block of buildTree(TABLE, leaves, sizes)) {
          writer.put(TABLES.innerBlocks.key(TABLE, block.level, block.start.subarray(1)), block.packed());
        }
      });
      const built = new CountedKeySets(disk, sizes);
      const all = prefixRange(Buffer.from([TABLE]));
      t.is(built.wrongBlock(), undefined);
      t.is(built.count(all), keys.length);
      t.true(isSame(built.keys(all), keys));
      const offset = keys.length >> 1;
      t.true(isSame(built.keys({ ...all, offset }), keys.slice(offset)));
    }),
  );
});
