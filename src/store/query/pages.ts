/** Returns pages of sorted lists in memory. */

import type { Cursor, Direction, Page, PageRequest } from '../../ports/queries.ts';

export type Compare<T> = (a: T, b: T) => number;

/** Makes cursors from the items of a sorted list in memory, and compares items with cursors. */
export interface CursorRules<T> {
  cursorOf(item: T): Cursor;
  /**
   * Returns a function that compares an item with the position of a cursor. The result is above 0 for each item that
   * comes after this position in the list.
   *
   * @throws ProtocolError `CURSOR_INVALID`
   */
  compareWith(cursor: Cursor): (item: T) => number;
}

/** Returns the requested page of a list in memory. The list must be in the requested order. */
export function listPage<T>(items: readonly T[], request: PageRequest, rules: CursorRules<T>): Page<T> {
  const { limit, after } = request;
  let offset = request.offset;
  if (after !== undefined) {
    const compare = rules.compareWith(after);
    offset = lowest(items.length, (at) => compare(items[at] as T) > 0);
  }
  const page = items.slice(offset, offset + limit);
  const last = page.at(-1);
  const total = items.length;
  if (last === undefined || offset + page.length >= total) return { items: page, total };
  return { items: page, total, next: rules.cursorOf(last) };
}

/**
 * Finds the lowest number below `end` for which a predicate holds; `end` if the predicate holds for no number. If the
 * predicate holds for a number, it must hold for all higher numbers, too.
 */
export function lowest(end: number, holds: (at: number) => boolean): number {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function emptyPage<T>(): Page<T> {
  return { items: [], total: 0 };
}

/**
 * Reverses a comparison function if the direction is `desc`. If equal items must be in ascending order of a tie-break
 * in both directions, `compare` must not contain the tie-break. In this case, combine the result of this function with
 * the tie-break by `firstOf`.
 */
export function directed<T>(compare: Compare<T>, direction: Direction): Compare<T> {
  return direction === 'asc' ? compare : (a, b) => compare(b, a);
}

/** Combines comparison functions. The first function that distinguishes two items decides their order. */
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

/**
 * Compares values that can be unknown (null or undefined). An unknown value counts as larger than every known value, as
 * in PostgreSQL.
 */
export function compareWithUnknown<T>(compare: Compare<T>): Compare<T | null | undefined> {
  return (a, b) => {
    const isUnknownA = a === null || a === undefined;
    const isUnknownB = b === null || b === undefined;
    if (isUnknownA || isUnknownB) return Number(isUnknownA) - Number(isUnknownB);
    return compare(a, b);
  };
}

/**
 * Compares texts by their UTF-8 bytes. HTTP answers that were recorded from lisk-sdk nodes of both generations are also
 * sorted by the UTF-8 bytes of texts (see `test/golden`).
 */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
