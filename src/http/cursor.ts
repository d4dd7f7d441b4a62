/** Places in lists as clients carry them from one page to the next. */

import type { Cursor } from '../ports/queries.ts';

/** A place, and the order of the list that it is in. */
export interface SortedCursor extends Cursor {
  /** Field and direction, as clients write them. */
  readonly sort: string;
}

/** Longest text: the values are numbers, names and keys. */
const TEXT_CHARACTERS_MAX = 400;

/** Letters, digits, `-` and `_`: it needs no escaping in a URL. */
export function cursorText({ sort, value, tie }: SortedCursor): string {
  return Buffer.from(JSON.stringify([sort, value, tie]), 'utf8').toString('base64url');
}

/** Reads what `cursorText` wrote; undefined for any other text. */
export function cursorIn(text: string): SortedCursor | undefined {
  if (text.length > TEXT_CHARACTERS_MAX || !/^[\w-]+$/.test(text)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    // Not the text of a cursor, whatever it is.
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [sort, value, tie] = parts as readonly unknown[];
  if (typeof sort !== 'string' || typeof value !== 'string' || typeof tie !== 'string') return undefined;
  return { sort, value, tie };
}
