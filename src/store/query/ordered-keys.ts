/**
 * Reads index keys as one list that is sorted by a value inside the keys (the sort value), ascending or descending. An
 * index is the set of all keys with one prefix. A key tail is a key without the prefix of its index. A key tail
 * consists of the sort value and a tie-break. Key tails with equal sort values are always in ascending order of the
 * tie-break, even if the list is descending. Several indexes can be read as one list. If two of these indexes can have
 * the same key tail, the caller also names a third index (`twice`), which contains exactly the key tails that are in
 * both indexes. Without the third index, such a key tail would be counted twice.
 */

import { assert } from '../../primitives/errors.ts';
import type { Direction, PageRequest } from '../../ports/queries.ts';
import { afterPrefix, prefixRange, type KeyRange, type KeyValueReader } from '../tables/key-value.ts';

/** Finds the end of the sort value that begins at `at` in a key. The tie-break begins at this end. */
export type ValueEnd = (key: Buffer, at: number) => number;

/**
 * Bounds of the sort value as bytes. The lower bound is inclusive. The upper bound includes all key tails (keys without
 * the prefix of their index) that begin with the bytes of the upper bound.
 */
export interface ValueBounds {
  readonly from?: Buffer;
  readonly to?: Buffer;
}

export interface OrderedKeysOptions {
  /** Prefixes of the indexes that are read as one list. */
  readonly prefixes: readonly Buffer[];
  /**
   * Prefix of the index that contains exactly the key tails (keys without the prefix of their index) that are in two of
   * the indexes of `prefixes`.
   */
  readonly twice?: Buffer;
  readonly valueEnd: ValueEnd;
  readonly bounds?: ValueBounds;
}

/**
 * Reads the keys of one or more indexes as one sorted list. In this class, `tail` is a key tail: a key without the
 * prefix of its index.
 */
export class OrderedKeys {
  readonly #keys: KeyValueReader;
  readonly #parts: readonly Part[];
  readonly #twice: Part | undefined;
  readonly #valueEnd: ValueEnd;

  constructor(keys: KeyValueReader, { prefixes, twice, valueEnd, bounds = {} }: OrderedKeysOptions) {
    this.#keys = keys;
    const parts = prefixes.map((prefix) => partOf(prefix, bounds));
    // The constructor leaves out indexes without keys in the bounds. If only one index is left, its keys need no merge.
    // If no index has keys in the bounds, the first index stays.
    const filled = parts.length === 1 ? parts : parts.filter((part) => sizeOf(keys, part) > 0);
    this.#parts = filled.length === 0 ? parts.slice(0, 1) : filled;
    this.#twice = this.#parts.length === 1 || twice === undefined ? undefined : partOf(twice, bounds);
    this.#valueEnd = valueEnd;
  }

  get total(): number {
    return this.#sum((part) => sizeOf(this.#keys, part));
  }

  /**
   * Returns the key tails (keys without the prefix of their index) of a page. In counted tables (`COUNTED_TABLES`), the
   * time of the call does not depend on the position of the page in the list.
   */
  page(direction: Direction, { limit, offset }: Pick<PageRequest, 'limit' | 'offset'>): readonly Buffer[] {
    return direction === 'asc' ? this.#upFrom(offset, limit) : this.#downFrom(offset, limit);
  }

  /**
   * Number of key tails (keys without the prefix of their index) up to and including `tail` in the given direction. The
   * method also works if no index contains `tail`.
   */
  offsetAfter(tail: Buffer, direction: Direction): number {
    if (direction === 'asc') return this.#through(tail);
    const value = this.#valueOf(tail);
    return this.total - this.#through(value) + this.#through(tail) - this.#below(value);
  }

  /** Number of key tails (keys without the prefix of their index) below `tail`. */
  #below(tail: Buffer): number {
    return this.#sum((part) => countBelow(this.#keys, part, Buffer.concat([part.prefix, tail])));
  }

  /** Number of key tails (keys without the prefix of their index) that are below `tail` or begin with `tail`. */
  #through(tail: Buffer): number {
    return this.#sum((part) => countBelow(this.#keys, part, afterPrefix(Buffer.concat([part.prefix, tail]))));
  }

  #sum(count: (part: Part) => number): number {
    const all = this.#parts.reduce((sum, part) => sum + count(part), 0);
    return this.#twice === undefined ? all : all - count(this.#twice);
  }

  /**
   * Returns up to `limit` key tails (keys without the prefix of their index) from a position on, in descending order of
   * their sort values. Key tails with equal sort values are a group. Within a group, the key tails ascend.
   */
  #downFrom(position: number, limit: number): readonly Buffer[] {
    const page: Buffer[] = [];
    let above: Buffer | undefined;
    if (position > 0) {
      // It is possible that the page (the list of key tails to return) begins in the middle of a group (all key tails
      // with the same sort value). In this case, the code first reads those key tails of this group that belong to the
      // page.
      const left = this.total - position;
      if (left <= 0) return [];
      above = this.#valueOf(this.#at(left - 1));
      const groupFrom = this.#below(above);
      const skipped = this.#through(above) - left;
      page.push(...this.#upFrom(groupFrom + skipped, Math.min(limit, left - groupFrom)));
    }
    while (page.length < limit) {
      const tails = this.#highestBelow(above, limit - page.length);
      const lowest = tails.at(-1);
      if (lowest === undefined) break;
      // All key tails (keys without prefix) with the same sort value are a group. `tails` is in descending order and
      // ends at a limit, so perhaps it lacks the lowest key tails of its last group. In the page, each group is in
      // ascending order, so the last group must begin with these lowest key tails. Therefore the page gets the last
      // group not from `tails`, but from `#firstOfGroup`, which reads the group from its lowest key tail on.
      above = this.#valueOf(lowest);
      page.push(...this.#groupsAbove(above, tails));
      page.push(...this.#firstOfGroup(above, limit - page.length));
    }
    return page;
  }

  /**
   * Returns the highest key tails (keys without the prefix of their index) whose sort value is below `value`, in
   * descending order. If `value` is undefined, the method returns the highest of all key tails. The result has at most
   * `limit` key tails.
   */
  #highestBelow(value: Buffer | undefined, limit: number): readonly Buffer[] {
    return this.#merged('desc', limit, ({ prefix, gte, lt }) => {
      const end = value === undefined ? lt : lower(Buffer.concat([prefix, value]), lt);
      return { gte, lt: end };
    });
  }

  /**
   * Removes the key tails with the sort value `value` from `tails`. All remaining key tails with one sort value are a
   * group. The groups stay in descending order, but the method puts the key tails of each group into ascending order.
   *
   * @param value the lowest sort value in `tails`
   * @param tails key tails (keys without the prefix of their index) in descending order
   */
  #groupsAbove(value: Buffer, tails: readonly Buffer[]): readonly Buffer[] {
    const groups: { readonly value: Buffer; readonly tails: Buffer[] }[] = [];
    for (const tail of tails) {
      const own = this.#valueOf(tail);
      if (own.equals(value)) break;
      const group = groups.at(-1);
      if (group?.value.equals(own) === true) group.tails.push(tail);
      else groups.push({ value: own, tails: [tail] });
    }
    return groups.flatMap((group) => group.tails.reverse());
  }

  /**
   * Returns up to `limit` key tails (keys without the prefix of their index) with the given sort value, in ascending
   * order from the lowest on.
   */
  #firstOfGroup(value: Buffer, limit: number): readonly Buffer[] {
    return this.#merged('asc', limit, ({ prefix, gte, lt }) => {
      const group = prefixRange(Buffer.concat([prefix, value]));
      return { gte: higher(group.gte, gte), lt: lower(group.lt, lt) };
    });
  }

  /**
   * Returns up to `limit` key tails (keys without the prefix of their index) in ascending order, from the given
   * position in the list on.
   */
  #upFrom(position: number, limit: number): readonly Buffer[] {
    const [only, ...others] = this.#parts;
    if (only !== undefined && others.length === 0) {
      const keys = this.#keysOf({ gte: only.gte, lt: only.lt, offset: position, limit });
      return Array.from(keys, (key) => key.subarray(only.prefix.length));
    }
    if (position >= this.total) return [];
    const from = position === 0 ? undefined : this.#at(position);
    return this.#merged('asc', limit, ({ prefix, gte, lt }) => {
      return { gte: from === undefined ? gte : higher(Buffer.concat([prefix, from]), gte), lt };
    });
  }

  /**
   * Reads a range of each index, merges the key tails (keys without the prefix of their index) of all ranges without
   * duplicates, and returns the first `limit` key tails.
   */
  #merged(direction: Direction, limit: number, rangeOf: (part: Part) => Range): readonly Buffer[] {
    const tails = this.#parts.flatMap((part) => {
      const keys = this.#keysOf({ ...rangeOf(part), reverse: direction === 'desc', limit });
      return Array.from(keys, (key) => key.subarray(part.prefix.length));
    });
    if (this.#parts.length === 1) return tails;
    const sorted = tails.sort(direction === 'asc' ? compareBytes : (a, b) => compareBytes(b, a));
    return sorted.filter((tail, index) => sorted[index - 1]?.equals(tail) !== true).slice(0, limit);
  }

  #keysOf(range: KeyRange): Iterable<Buffer> {
    return Buffer.compare(range.gte, range.lt) < 0 ? this.#keys.keys(range) : [];
  }

  #valueOf(tail: Buffer): Buffer {
    return tail.subarray(0, this.#valueEnd(tail, 0));
  }

  /**
   * Returns the key tail (the key without the prefix of its index) at a position in ascending order. If there are
   * several indexes, the method does a binary search. For each index, the method keeps a range of keys in which the
   * wanted key tail can be. Each step halves the largest of these ranges.
   */
  #at(position: number): Buffer {
    const [only, ...others] = this.#parts;
    if (only !== undefined && others.length === 0) {
      const [key] = this.#keys.keys({ gte: only.gte, lt: only.lt, offset: position, limit: 1 });
      assert(key !== undefined, 'each position below the total has a key');
      return key.subarray(only.prefix.length);
    }
    const windows = this.#parts.map((part) => ({ part, low: 0, high: sizeOf(this.#keys, part) }));
    for (;;) {
      const widest = windows.reduce((a, b) => (b.high - b.low > a.high - a.low ? b : a));
      assert(widest.high > widest.low, 'each position below the total has a key');
      const middle = (widest.low + widest.high) >> 1;
      const [key] = this.#keys.keys({ gte: widest.part.gte, lt: widest.part.lt, offset: middle, limit: 1 });
      assert(key !== undefined, 'a count agrees with its keys');
      const pivot = key.subarray(widest.part.prefix.length);
      const below = windows.map(({ part }) =>
        part === widest.part ? middle : countBelow(this.#keys, part, Buffer.concat([part.prefix, pivot])),
      );
      const twice =
        this.#twice === undefined ? 0 : countBelow(this.#keys, this.#twice, Buffer.concat([this.#twice.prefix, pivot]));
      const rank = below.reduce((sum, count) => sum + count, -twice);
      if (rank === position) return pivot;
      for (const [index, window] of windows.entries()) {
        const count = below[index] ?? 0;
        if (rank > position) window.high = Math.min(window.high, count);
        else window.low = Math.max(window.low, window === widest ? middle + 1 : count);
      }
    }
  }
}

type Range = Pick<KeyRange, 'gte' | 'lt'>;

interface Part extends Range {
  readonly prefix: Buffer;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

function lower(a: Uint8Array, b: Uint8Array): Uint8Array {
  return compareBytes(a, b) < 0 ? a : b;
}

function higher(a: Uint8Array, b: Uint8Array): Uint8Array {
  return compareBytes(a, b) > 0 ? a : b;
}

function partOf(prefix: Buffer, { from, to }: ValueBounds): Part {
  const whole = prefixRange(prefix);
  return {
    prefix,
    gte: from === undefined ? whole.gte : Buffer.concat([prefix, from]),
    lt: to === undefined ? whole.lt : afterPrefix(Buffer.concat([prefix, to])),
  };
}

function sizeOf(keys: KeyValueReader, { gte, lt }: Part): number {
  return Buffer.compare(gte, lt) < 0 ? keys.count({ gte, lt }) : 0;
}

function countBelow(keys: KeyValueReader, { gte, lt }: Part, bound: Buffer): number {
  const end = Buffer.compare(bound, lt) < 0 ? bound : lt;
  return Buffer.compare(gte, end) < 0 ? keys.count({ gte, lt: end }) : 0;
}
