/** The query text of a request, and how one of its values becomes text, number or boolean. */

import type { SchemaType } from './schema.ts';

/** Parameters by name; `undefined` for one that was repeated or nested (`p=1&p=2`, `p[x]=1`), which reads as an object. */
export type Query = ReadonlyMap<string, string | undefined>;

/** Reads the part after `?`, percent-decoded. Never throws: what cannot be decoded becomes U+FFFD. */
export function parseQuery(text: string): Query {
  const query = new Map<string, string | undefined>();
  for (const [key, value] of new URLSearchParams(text)) {
    const bracket = key.indexOf('[');
    const nested = bracket > 0 && key.indexOf(']', bracket) > 0;
    const name = nested ? key.slice(0, bracket) : key;
    query.set(name, nested || query.has(name) ? undefined : value);
  }
  return query;
}

/** The part of a request target after the first `?`; empty without one. */
export function queryTextOf(target: string): string {
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start + 1).replace(/#.*$/s, '');
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
export function convert(name: string, type: SchemaType, text: string | undefined): Converted {
  if (text === undefined) return { found: 'object' };
  const looksNumeric = !TEXT_NAMES.has(name) && isCanonicalInteger(text);
  if (type === 'integer') return convertInteger(text);
  if (looksNumeric) return { found: 'number' };
  if (type === 'boolean') return text === 'true' || text === 'false' ? { value: text === 'true' } : { found: 'string' };
  return { value: text };
}

function convertInteger(text: string): Converted {
  // Number('') is 0, but an empty value is no number to clients.
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? { value } : { found: 'string' };
}

function isCanonicalInteger(text: string): boolean {
  return /^-?[0-9]+$/.test(text) && String(Number(text)) === text;
}
