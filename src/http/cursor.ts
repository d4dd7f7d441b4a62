/** Converts cursors (positions in sorted lists) to texts and back. A client sends the text to get the next page. */

import type { Cursor } from '../ports/queries.ts';

/** A position, with the sort order of its list. */
export interface SortedCursor extends Cursor {
  /** Field and direction as a client writes them in the parameter `sort`, for example `balance:desc`. */
  readonly sort: string;
}

/** Maximum length of the text of a cursor. The values in cursors are short: numbers, names and keys. */
const TEXT_CHARACTERS_MAX = 400;

/** Returns the text of a cursor. The text has only letters, digits, `-` and `_`, which need no escaping in a URL. */
export function cursorText({ sort, value, tie }: SortedCursor): string {
  return Buffer.from(JSON.stringify([sort, value, tie]), 'utf8').toString('base64url');
}

/** Decodes the text of a cursor. Returns undefined if the text is not a valid cursor. */
export function cursorIn(text: string): SortedCursor | undefined {
  if (text.length > TEXT_CHARACTERS_MAX || !/^[\w-]+$/.test(text)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [sort, value, tie] = parts as readonly unknown[];
  if (typeof sort !== 'string' || typeof value !== 'string' || typeof tie !== 'string') return undefined;
  return { sort, value, tie };
}
