/**
 * Reads index keys as one list that is sorted by a value, ascending or descending. An index is the set of all keys with
 * one prefix. A key tail is a key without the prefix of its index. A key tail consists of the value and a tie-break.
 * Key tails with equal values are always in ascending order of the tie-break. Several indexes can be read as one list.
 * If two indexes can have the same key tail, a third index has all key tails that are in both indexes. The third index
 * is needed to count each key tail once.
 */

import { assert } from '../../primitives/errors.ts';
import type { Direction, PageRequest } from '../../ports/queries.ts';
import { afterPrefix, prefixRange, type KeyValueReader } from '../tables/key-value.ts';
import { indexPage } from './pages.ts';

/** Finds the end of the value that begins at `at` in a key. The tie-break begins at this position. */
export type ValueEnd = (key: Buffer, at: number) => number;

/**
 * Bounds of the value as bytes. The lower bound is inclusive. The upper bound includes all key tails that begin with
 * the bound.
 */
export interface ValueBounds {
  readonly from?: Buffer;
  readonly to?: Buffer;
}

export interface OrderedKeysOptions {
  /** Prefixes of the indexes that are read as one list. */
  readonly prefixes: readonly Buffer[];
  /** Prefix of the index of all key tails that are in two of the indexes above. */
  readonly twice?: Buffer;
  readonly valueEnd: ValueEnd;
  readonly bounds?: ValueBounds;
}

/**
 * Keys of one or more indexes as one sorted list. In this class, `tail` is a key tail: a key without the prefix of its
 * index.
 */
export class OrderedKeys {
  readonly #keys: KeyValueReader;
  readonly #parts: readonly Part[];
  readonly #twice: Part | undefined;
  readonly #valueEnd: ValueEnd;

  constructor(keys: KeyValueReader, { prefixes, twice, valueEnd, bounds = {} }: OrderedKeysOptions) {
    this.#keys = keys;
    const parts = prefixes.map((prefix) => partOf(prefix, bounds));
    // If only one index has keys, no merge is needed.
    const filled = parts.length === 1 ? parts : parts.filter((part) => sizeOf(keys, part) > 0);
    this.#parts = filled.length === 0 ? parts.slice(0, 1) : filled;
    this.#twice = this.#parts.length === 1 || twice === undefined ? undefined : partOf(twice, bounds);
    this.#valueEnd = valueEnd;
  }

  get total(): number {
    return this.#sum((part) => sizeOf(this.#keys, part));
  }

  /** The key tails of a page. In counted tables, the cost does not depend on the depth of the page. */
  page(direction: Direction, page: Pick<PageRequest, 'limit' | 'offset'>): readonly Buffer[] {
    const [only] = this.#parts;
    if (this.#parts.length === 1 && only !== undefined) {
      const at = only.prefix.length;
      const keys = indexPage(this.#keys, only, (key) => this.#valueEnd(key, at), direction, page);
      return keys.map((key) => key.subarray(at));
    }
    return direction === 'asc' ? this.#upFrom(page.offset, page.limit) : this.#down(page);
  }

  /**
   * Number of key tails that come before `tail` in the given direction, including `tail` itself. No index need contain
   * `tail`.
   */
  offsetAfter(tail: Buffer, direction: Direction): number {
    if (direction === 'asc') return this.#through(tail);
    const value = tail.subarray(0, this.#valueEnd(tail, 0));
    return this.total - this.#through(value) + this.#through(tail) - this.#below(value);
  }

  /** Number of key tails below `tail`. */
  #below(tail: Buffer): number {
    return this.#sum((part) => countBelow(this.#keys, part, Buffer.concat([part.prefix, tail])));
  }

  /** Number of key tails that are below `tail` or begin with `tail`. */
  #through(tail: Buffer): number {
    return this.#sum((part) => countBelow(this.#keys, part, afterPrefix(Buffer.concat([part.prefix, tail]))));
  }

  #sum(count: (part: Part) => number): number {
    const all = this.#parts.reduce((sum, part) => sum + count(part), 0);
    return this.#twice === undefined ? all : all - count(this.#twice);
  }

  /** Reads groups of equal values from the highest value down. Within a group of equal values, the key tails ascend. */
  #down({ limit, offset }: Pick<PageRequest, 'limit' | 'offset'>): readonly Buffer[] {
    const { total } = this;
    const page: Buffer[] = [];
    let left = total - offset;
    while (page.length < limit && left > 0) {
      const top = this.#at(left - 1);
      const value = top.subarray(0, this.#valueEnd(top, 0));
      const groupFrom = this.#below(value);
      const skipped = page.length === 0 ? this.#through(value) - left : 0;
      const size = left + skipped - groupFrom;
      page.push(...this.#upFrom(groupFrom + skipped, Math.min(limit - page.length, size - skipped)));
      left = groupFrom;
    }
    return page;
  }

  /** The key tails in ascending order, from a position on. */
  #upFrom(position: number, limit: number): readonly Buffer[] {
    const from = position === 0 ? undefined : position < this.total ? this.#at(position) : null;
    if (from === null) return [];
    const heads = this.#parts.flatMap((part) => {
      const at = from === undefined ? part.gte : Buffer.concat([part.prefix, from]);
      const gte = Buffer.compare(at, part.gte) > 0 ? at : part.gte;
      if (Buffer.compare(gte, part.lt) >= 0) return [];
      return Array.from(this.#keys.keys({ gte, lt: part.lt, limit }), (key) => key.subarray(part.prefix.length));
    });
    const sorted = heads.sort((a, b) => Buffer.compare(a, b));
    return sorted.filter((tail, index) => sorted[index - 1]?.equals(tail) !== true).slice(0, limit);
  }

  /**
   * Finds the key tail at a position by a binary search over all indexes. Each step halves the remaining range of the
   * index with the largest range.
   */
  #at(position: number): Buffer {
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

interface Part {
  readonly prefix: Buffer;
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
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
