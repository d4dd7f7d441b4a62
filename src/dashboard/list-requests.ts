/** Converts the filters and the order of a list to a request to the node. */

import { BEDDOWS_PER_LSK, SECOND_TYPES_FROM } from './format.ts';
import type { Filters } from './hash-route.ts';

/**
 * Transaction types that a filter can select, with their numbers in generation 2. Generation 3 numbers these types from
 * 8.
 */
export const TRANSACTION_TYPES = [0, 1, 2, 3, 4] as const;

/** An order of a list: the value of the parameter `sort`, and the label that the dashboard shows. */
export type Order = readonly [sort: string, title: string];

export const BLOCK_SORT_OPTIONS: readonly Order[] = [
  ['height:desc', 'newest first'],
  ['height:asc', 'oldest first'],
  ['totalAmount:desc', 'largest amount first'],
  ['totalFee:desc', 'largest fees first'],
];

export const TRANSACTION_SORT_OPTIONS: readonly Order[] = [
  ['timestamp:desc', 'newest first'],
  ['timestamp:asc', 'oldest first'],
  ['amount:desc', 'largest amount first'],
  ['amount:asc', 'smallest amount first'],
  ['fee:desc', 'largest fee first'],
  ['fee:asc', 'smallest fee first'],
];

export const ACCOUNT_ORDERS: readonly Order[] = [
  ['balance:desc', 'richest first'],
  ['balance:asc', 'poorest first'],
];

export const DELEGATE_ORDERS: readonly Order[] = [
  ['rank:asc', 'by rank'],
  ['rank:desc', 'by rank, last first'],
  ['username:asc', 'by name'],
  ['username:desc', 'by name, last first'],
  ['producedBlocks:desc', 'most blocks first'],
  ['producedBlocks:asc', 'fewest blocks first'],
  ['missedBlocks:desc', 'most missed first'],
  ['missedBlocks:asc', 'fewest missed first'],
  ['productivity:asc', 'least productive first'],
  ['productivity:desc', 'most productive first'],
];

/**
 * Returns the order that the filter `sort` names. If `sort` is absent or not valid, the function returns the first
 * order.
 */
export function orderOf(filters: Filters, orders: readonly Order[]): string {
  const [first] = orders;
  return orders.find(([sort]) => sort === filters['sort'])?.[0] ?? first?.[0] ?? '';
}

/**
 * Returns the order of the list after a click on the head of a column. `orders` contains one or more orders for each
 * column that can be sorted. If `current` is an order of this column, but not the column's last order, the click sets
 * the column's next order. If `current` is the last order of the column, or belongs to another column, the click sets
 * the first order of the column. For a column that cannot be sorted, the result is undefined.
 */
export function nextOrder(field: string, current: string, orders: readonly Order[]): string | undefined {
  const own = orders.map(([sort]) => sort).filter((sort) => sort.startsWith(`${field}:`));
  return own[(own.indexOf(current) + 1) % own.length];
}

/** A form field whose text cannot be part of a valid request, and the problem of this text. */
interface WrongField {
  readonly problem: string;
  /** Name of the field. */
  readonly field: string;
}

/**
 * The path of a request to the node. If a field of the form with the list's filters is wrong, the value contains this
 * field and its problem instead of a path.
 */
export type ListRequest = { readonly path: string } | WrongField;

export interface PageOfList {
  readonly limit: number;
  /** Cursor that the node sent for the last entry before the page; empty for the first page. */
  readonly after: string;
}

/** @param hasSecondTypes true if the network numbers the types of transactions from 8, as in generation 3 */
export function transactionsRequest(filters: Filters, page: PageOfList, hasSecondTypes: boolean): ListRequest {
  const query = queryFor(page, orderOf(filters, TRANSACTION_SORT_OPTIONS));
  const { kind, from, to, min, max, text } = filters;
  if (TRANSACTION_TYPES.some((known) => String(known) === kind))
    query.set('type', String(Number(kind) + (hasSecondTypes ? SECOND_TYPES_FROM : 0)));
  for (const [field, name, value] of [
    ['from', 'senderId', from],
    ['to', 'recipientId', to],
  ] as const) {
    if (value === undefined) continue;
    const address = addressOf(value);
    if (address === undefined)
      return { field, problem: `${value} is not an address: an address is digits followed by L.` };
    query.set(name, address);
  }
  for (const [field, name, value] of [
    ['min', 'minAmount', min],
    ['max', 'maxAmount', max],
  ] as const) {
    if (value === undefined) continue;
    const beddows = beddowsOf(value);
    if (beddows === undefined)
      return { field, problem: `${value} is not an amount: write LSK with at most 8 decimals.` };
    query.set(name, beddows);
  }
  if (text !== undefined) query.set('data', `%${text}%`);
  return { path: `transactions?${query}` };
}

/**
 * @param keyOf function that returns the public key of the delegate with the given name; undefined for an unknown name
 */
export function blocksRequest(
  filters: Filters,
  page: PageOfList,
  keyOf: (name: string) => string | undefined,
): ListRequest {
  const query = queryFor(page, orderOf(filters, BLOCK_SORT_OPTIONS));
  const { delegate } = filters;
  if (delegate !== undefined) {
    const publicKey = /^[0-9a-f]{64}$/i.test(delegate) ? delegate.toLowerCase() : keyOf(delegate.toLowerCase());
    if (publicKey === undefined) return { field: 'delegate', problem: `No delegate ${delegate} is known here.` };
    query.set('generatorPublicKey', publicKey);
  }
  return { path: `blocks?${query}` };
}

export function delegatesRequest(filters: Filters, page: PageOfList): string {
  const query = queryFor(page, orderOf(filters, DELEGATE_ORDERS));
  const { name } = filters;
  if (name !== undefined) query.set('search', name.toLowerCase());
  return `delegates?${query}`;
}

export function accountsRequest(filters: Filters, page: PageOfList): string {
  return `accounts?${queryFor(page, orderOf(filters, ACCOUNT_ORDERS))}`;
}

function queryFor({ limit, after }: PageOfList, sort: string): URLSearchParams {
  return new URLSearchParams({ limit: String(limit), sort, after });
}

/** Returns `17L` for `17`, `17l` or `17L`; undefined for a text that is not an address. */
export function addressOf(text: string): string | undefined {
  return /^\d{1,20}[lL]?$/.test(text) ? `${text.replace(/[lL]$/, '')}L` : undefined;
}

/**
 * Converts an amount in LSK that a user typed to decimal digits in beddows. Returns undefined for any other text.
 * Spaces between thousands are optional.
 */
export function beddowsOf(text: string): string | undefined {
  const [, whole, rest = ''] = /^(\d{1,12})(?:[.,](\d{1,8}))?$/.exec(text.replace(/[\s\u202f]/g, '')) ?? [];
  if (whole === undefined) return undefined;
  return (BigInt(whole) * BEDDOWS_PER_LSK + BigInt(rest.padEnd(8, '0'))).toString();
}
