/**
 * Parses the query string of a request, and converts the value of a parameter to the type that the route declares for
 * the parameter.
 */

import type { SchemaType } from './schema.ts';

/**
 * A list with one element (`p[]=1`). If the parameter has the type `integer` and the element is a number, `convert`
 * returns the element. In all other cases, `convert` returns `{ found: 'object' }`.
 */
interface ListValue {
  readonly element: string;
}

/**
 * The value of a parameter in the query string. The value is undefined if the parameter is repeated or nested
 * (`p=1&p=2`, `p[x]=1`). `convert` then returns `{ found: 'object' }`.
 */
export type QueryValue = string | ListValue | undefined;

/** Values of parameters, by the name of the parameter. The name can be empty (`?=1`). */
export type Query = ReadonlyMap<string, QueryValue>;

/**
 * Parses the query string (without the `?`) in the same way as a real lisk-sdk node. Brackets after a name declare a
 * list (`p[]`, `p[0]`) or an object (`p[x]`). If a name or value contains an invalid percent escape, the function
 * decodes none of its escapes, and only replaces each `+` by a space. The function never throws.
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

/**
 * Largest number in brackets that counts as an index in a list. A larger number counts as a member name in an object.
 */
const LIST_INDEX_MAX = 20;

/**
 * Returns the name and the kind of a parameter. For example, each of the keys `a`, `a[]`, `a[0]` and `a[x]` has the
 * name `a`. If a key has no name before its brackets, as in `[a]`, the first pair of brackets contains the name. If
 * this first pair is empty, the name is `0`. The caller must not pass the key `[]`, because `parseQuery` handles this
 * key itself.
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
    // `decodeURIComponent` throws an error if a percent sign is not followed by two hexadecimal digits, or if the
    // escaped bytes are not UTF-8.
    return spaced;
  }
}

/** Matches the scheme and the authority of a request target in absolute form. */
const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/**
 * Returns the path and the query of a request target. If a client treats this node as a proxy, the target is the whole
 * URL (absolute form). Every server must accept this form (RFC 9112 section 3.2.2).
 */
export function originForm(target: string): string {
  const rest = target.replace(ABSOLUTE, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Returns the part of a request target after the first `?` and before the first `#`. The result is empty if the target
 * has no such part.
 */
export function queryTextOf(target: string): string {
  const [withoutFragment = ''] = target.split('#', 1);
  const start = withoutFragment.indexOf('?');
  return start < 0 ? '' : withoutFragment.slice(start + 1);
}

export type Converted =
  | { readonly value: string | number | boolean }
  /** Result for a value that does not have the declared type. `found` is the actual type of the value. */
  | { readonly found: 'string' | 'number' | 'object' };

/** Names of text parameters whose values are valid texts even if they look like integers. */
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
 * Converts the value of a query parameter to `type`, the declared type of the parameter. If the value of a text or
 * boolean parameter is an integer in canonical decimal form, the function returns `{ found: 'number' }`, like a real
 * lisk-sdk node. In two cases, such a value counts as text instead: the parameter is in `TEXT_NAMES`, or JavaScript
 * would round the integer.
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

/**
 * Converts the text of an integer parameter to a number. The result can be a fraction or `Infinity`. The schema check
 * after the conversion refuses these numbers.
 */
function convertInteger(text: string): Converted {
  // Number('') is 0, but a real lisk-sdk node does not accept an empty value as a number.
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isNaN(value) ? { found: 'string' } : { value };
}

function isCanonicalInteger(text: string): boolean {
  return /^-?[0-9]+$/.test(text) && String(Number(text)) === text;
}
