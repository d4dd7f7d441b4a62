import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import type { KeyValueReader } from '../../../src/store/tables/key-value.ts';
import { MemoryKeyValue } from '../../../src/store/disk/memory.ts';
import { OrderedKeys, type OrderedKeysOptions } from '../../../src/store/query/ordered-keys.ts';

/** The part of a key after the prefix of its index: a value and a tie-break, one byte each. */
type Tail = readonly [value: number, tie: number];

const [FIRST, SECOND, TWICE] = [Buffer.from([7]), Buffer.from([9]), Buffer.from([11])];
const small = fc.constantFrom(0, 1, 2, 3, 254, 255);
const tails = fc.array(fc.tuple(small, small), { maxLength: 30 });
const offset = fc.nat(40);
const limit = fc.nat(12);

function keysOf(indexes: readonly (readonly [Buffer, readonly Tail[]])[]): MemoryKeyValue {
  const keys = new MemoryKeyValue();
  keys.transact((writer) => {
    for (const [prefix, all] of indexes) {
      for (const tail of all) writer.put(Buffer.concat([prefix, Buffer.from(tail)]), Buffer.alloc(0));
    }
  });
  return keys;
}

function ordered(keys: KeyValueReader, options: Omit<OrderedKeysOptions, 'valueEnd'>): OrderedKeys {
  return new OrderedKeys(keys, { ...options, valueEnd: (_, at) => at + 1 });
}

function unique(all: readonly Tail[]): Tail[] {
  return [...new Map(all.map((tail) => [tail.join(), tail])).values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/** Sorts by descending values, and equal values by ascending tie-breaks. */
function descending(all: readonly Tail[]): Tail[] {
  return all.toSorted((a, b) => b[0] - a[0] || a[1] - b[1]);
}

function numbers(found: readonly Buffer[]): readonly (readonly number[])[] {
  return found.map((tail) => [...tail]);
}

test('pages, totals and cursors of one or two indexes equal those of a sorted list', (t) => {
  fc.assert(
    fc.property(tails, tails, small, small, offset, limit, (sent, received, from, to, at, size) => {
      const both = unique(sent).filter(([value, tie]) => received.some((tail) => tail[0] === value && tail[1] === tie));
      const keys = keysOf([
        [FIRST, sent],
        [SECOND, received],
        [TWICE, both],
      ]);
      const bounds = { from: Buffer.from([from]), to: Buffer.from([to]) };
      const isInside = ([value]: Tail): boolean => value >= from && value <= to;
      for (const { index, all } of [
        { index: ordered(keys, { prefixes: [FIRST], bounds }), all: unique(sent).filter(isInside) },
        {
          index: ordered(keys, { prefixes: [FIRST, SECOND], twice: TWICE, bounds }),
          all: unique([...sent, ...received]).filter(isInside),
        },
      ]) {
        const page = { offset: at, limit: size };
        t.is(index.total, all.length);
        t.deepEqual(numbers(index.page('asc', page)), all.slice(at, at + size));
        t.deepEqual(numbers(index.page('desc', page)), descending(all).slice(at, at + size));
        for (const [direction, list] of [
          ['asc', all],
          ['desc', descending(all)],
        ] as const) {
          for (const [position, tail] of list.entries()) {
            t.is(index.offsetAfter(Buffer.from(tail), direction), position + 1);
          }
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('groups of equal values of any size are paged like a sorted list', (t) => {
  const groups = [1, 3, 200, 1, 1, 256, 100];
  const all = groups.flatMap((size, value) => Array.from({ length: size }, (_, tie): Tail => [value, tie]));
  const keys = keysOf([
    [FIRST, all.filter(([, tie]) => tie % 2 === 0)],
    [SECOND, all.filter(([, tie]) => tie % 2 === 1)],
    [TWICE, []],
  ]);
  const index = ordered(keys, { prefixes: [FIRST, SECOND], twice: TWICE });
  const down = descending(all);
  for (const at of [0, 1, 99, 100, 101, 355, 356, 357, 358, 557, 558, 561, 562, 9999]) {
    for (const size of [0, 1, 10, 300, 1000]) {
      const page = { offset: at, limit: size };
      t.deepEqual(numbers(index.page('desc', page)), down.slice(at, at + size));
      t.deepEqual(numbers(index.page('asc', page)), all.slice(at, at + size));
    }
  }
});

test('a page of a hundred different values is not read value by value', (t) => {
  const all = Array.from({ length: 250 }, (_, value): Tail => [value, value]);
  const keys = keysOf([
    [FIRST, all.filter(([value]) => value % 3 === 0)],
    [SECOND, all.filter(([value]) => value % 3 !== 0)],
    [TWICE, []],
  ]);
  let reads = 0;
  const counted = new Proxy(keys, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]): unknown => {
        reads += 1;
        return Reflect.apply(member, target, given);
      };
    },
  });
  for (const prefixes of [[FIRST], [FIRST, SECOND]]) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const at of [0, 30]) {
        const readsFor = (size: number): number => {
          reads = 0;
          const index = ordered(counted, { prefixes, twice: TWICE });
          t.is(index.page(direction, { offset: at, limit: size }).length, Math.min(size, index.total - at));
          return reads;
        };
        const few = readsFor(2);
        t.true(readsFor(100) <= few + 2, `${direction} from ${at}`);
      }
    }
  }
});
