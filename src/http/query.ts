/** The query text of a request, and how one of its values becomes text, number or boolean. */

import type { SchemaType } from './schema.ts';

/** The one element of a list (`p[]=1`). As an integer it counts like the element itself, as anything else like an object. */
interface ListValue {
  readonly element: string;
}

/** Undefined for a parameter that was repeated or nested (`p=1&p=2`, `p[x]=1`), which reads as an object. */
export type QueryValue = string | ListValue | undefined;

/** Parameters by name. One without a name is kept under the empty one. */
export type Query = ReadonlyMap<string, QueryValue>;

/**
 * Reads the part after `?` as clients of the network family have it read: brackets make lists and objects, and text whose
 * percent signs lead nowhere is taken as it is. Never throws.
 */
export function parseQuery(text: string): Query {
  const query = new Map<string, QueryValue>();
  let nameless = 0;
  for (const part of text.split('&')) {
    if (part === '') continue;
    const bracketed = part.indexOf(']=');
    const end = bracketed < 0 ? part.indexOf('=') : bracketed + 1;
    const key = decode(end < 0 ? part : part.slice(0, end));
    const value = end < 0 ? '' : decode(part.slice(end + 1));
    const { name, kind } = key === '[]' ? { name: String(nameless++), kind: 'plain' } : placeOf(key);
    if (query.has(name) || kind === 'object') query.set(name, undefined);
    else query.set(name, kind === 'list' ? { element: value } : value);
  }
  return query;
}

interface Place {
  readonly name: string;
  readonly kind: 'plain' | 'list' | 'object';
}

/** Larger ones name a member of an object. */
const LIST_INDEX_MAX = 20;

/**
 * The parameter that a key with brackets names: `a`, `a[]`, `a[0]`, `a[x]`; without a name before them, the first pair names it: `[a]`. An empty
 * first pair is a place in a list, where names are numbers.
 */
function placeOf(key: string): Place {
  const brackets = [...key.matchAll(/\[([^[\]]*)\]/g)];
  const start = brackets[0]?.index;
  if (start === undefined) return { name: key, kind: 'plain' };
  const inside = brackets.map(([, content = '']) => content);
  const name = start > 0 ? key.slice(0, start) : inside.shift() || '0';
  if (inside.length === 0) return { name, kind: 'plain' };
  const isList = inside.every(
    (index) => index === '' || (/^(?:0|[1-9][0-9]?)$/.test(index) && Number(index) <= LIST_INDEX_MAX),
  );
  return { name, kind: isList ? 'list' : 'object' };
}

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // A stray percent sign, or bytes that are no UTF-8.
    return spaced;
  }
}

/** The part of a request target after the first `?` and before a `#`; empty without one. */
export function queryTextOf(target: string): string {
  const [withoutFragment = ''] = target.split('#', 1);
  const start = withoutFragment.indexOf('?');
  return start < 0 ? '' : withoutFragment.slice(start + 1);
}

export type Converted =
  | { readonly value: string | number | boolean }
  /** The text is no value of the wanted type; `found` names what it is. */
  | { readonly found: 'string' | 'number' | 'object' };

/** Names whose values stay text even when they look like integers. */
const TEXT_NAMES: ReadonlySet<string> = new Set([
  'id',
  'name',
  'username',
  'blockId',
  'transactionId',
  'address',
  'recipientId',
  'senderId',
  'search',
  'data',
]);

/**
 * Converts a query value to its declared type. Text that is the canonical decimal form of an integer counts as a number,
 * so a text parameter outside the list above refuses it.
 */
export function convert(name: string, type: SchemaType, given: QueryValue): Converted {
  if (given === undefined) return { found: 'object' };
  if (typeof given !== 'string') {
    const value = type === 'integer' ? Number(given.element) : Number.NaN;
    return Number.isNaN(value) ? { found: 'object' } : { value };
  }
  const looksNumeric = !TEXT_NAMES.has(name) && isCanonicalInteger(given);
  if (type === 'integer') return convertInteger(given);
  if (looksNumeric) return { found: 'number' };
  if (type === 'boolean')
    return given === 'true' || given === 'false' ? { value: given === 'true' } : { found: 'string' };
  return { value: given };
}

/** What lies beyond all numbers is one to clients, and fails as what it is. */
function convertInteger(text: string): Converted {
  // Number('') is 0, but an empty value is no number to clients.
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isNaN(value) ? { found: 'string' } : { value };
}

function isCanonicalInteger(text: string): boolean {
  return /^-?[0-9]+$/.test(text) && String(Number(text)) === text;
}
