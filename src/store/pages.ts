/** Cutting pages: of lists in memory and of indexes on the disk. */

import type { Direction, Page, PageRequest } from '../ports/queries.ts';
import { prefixRange, type KeyRange, type KeyValueReader } from './key-value.ts';

export type Compare<T> = (a: T, b: T) => number;

/** Keys that are read at once when an index is walked downwards. */
const BATCH_KEYS = 256;

/** The wanted page of items that are all in memory. */
export function pageOf<T>(items: readonly T[], { limit, offset }: PageRequest): Page<T> {
  return { items: items.slice(offset, offset + limit), total: items.length };
}

export function emptyPage<T>(): Page<T> {
  return { items: [], total: 0 };
}

/** Turns the order for `desc`, but not the order of the tie-break that is joined to it. */
export function directed<T>(compare: Compare<T>, direction: Direction): Compare<T> {
  return direction === 'asc' ? compare : (a, b) => compare(b, a);
}

/** The first order that tells two items apart decides. */
export function firstOf<T>(...orders: readonly Compare<T>[]): Compare<T> {
  return (a, b) => {
    for (const order of orders) {
      const result = order(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };
}

export function compareValues(a: bigint | number | string, b: bigint | number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** An unknown value is larger than every known one, as in PostgreSQL. */
export function compareWithUnknown<T>(compare: Compare<T>): Compare<T | null | undefined> {
  return (a, b) => {
    const isUnknownA = a === null || a === undefined;
    const isUnknownB = b === null || b === undefined;
    if (isUnknownA || isUnknownB) return Number(isUnknownA) - Number(isUnknownB);
    return compare(a, b);
  };
}

/** The order of names: bytewise, as nodes of both generations were recorded to have it. */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * A page of index keys that hold a value and then a tie-break. The tie-break ascends whatever the direction, so downwards
 * the index is walked group by group of equal values.
 *
 * @param valueEnd where the value of a key ends and its tie-break begins
 */
export function indexPage(
  keys: KeyValueReader,
  range: Pick<KeyRange, 'gte' | 'lt'>,
  valueEnd: (key: Buffer) => number,
  direction: Direction,
  { limit, offset }: PageRequest,
): readonly Buffer[] {
  if (Buffer.compare(range.gte, range.lt) >= 0) return [];
  if (direction === 'asc') return Array.from(keys.keys({ ...range, limit, offset }));
  const page: Buffer[] = [];
  /** Keys of the groups above, whether on the page or skipped. */
  let passed = 0;
  let lt = range.lt;
  while (page.length < limit) {
    const batch = Array.from(keys.keys({ gte: range.gte, lt, reverse: true, limit: BATCH_KEYS }));
    if (batch.length === 0) break;
    for (const group of groupsOf(batch, valueEnd)) {
      const { prefix, start, end } = group;
      // A group at the end of a full batch may go on below it: then the index is asked for the group as a whole.
      const mayGoOn = end === batch.length && batch.length === BATCH_KEYS;
      const size = mayGoOn ? keys.count(prefixRange(prefix)) : end - start;
      const skip = Math.max(0, offset - passed);
      if (skip < size) {
        const wanted = limit - page.length;
        page.push(
          ...(mayGoOn
            ? keys.keys({ ...prefixRange(prefix), offset: skip, limit: wanted })
            : batch
                .slice(start, end)
                .reverse()
                .slice(skip, skip + wanted)),
        );
      }
      passed += size;
      lt = prefix;
      if (page.length >= limit) break;
    }
  }
  return page;
}

interface Group {
  readonly prefix: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Runs of neighbours with equal values. */
function* groupsOf(batch: readonly Buffer[], valueEnd: (key: Buffer) => number): Iterable<Group> {
  let start = 0;
  while (start < batch.length) {
    const first = batch[start];
    if (first === undefined) return;
    const prefix = first.subarray(0, valueEnd(first));
    let end = start + 1;
    while (end < batch.length && batch[end]?.subarray(0, prefix.length).equals(prefix) === true) end += 1;
    yield { prefix, start, end };
    start = end;
  }
}
