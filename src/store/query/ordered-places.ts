/**
 * Reads lists of transactions in the sort order of an index: pages at any offset, the exact total, and the offset after
 * a cursor.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Cursor, Direction, PageRequest, TransactionSort } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Transaction } from '../../protocol/types.ts';
import { listLength } from '../index/transaction-lists.ts';
import { afterPrefix, prefixRange, type KeyValueReader } from '../tables/key-value.ts';
import { listPlaceKey, selfListKey, TABLES, TRANSACTION_ORDERS, type TransactionOrder } from '../tables/layout.ts';
import { isU16, isU32, placeAtEnd, placeBytes } from '../tables/ordered-bytes.ts';
import { bytesOf } from '../tables/sort-values.ts';
import { OrderedKeys, type ValueBounds } from './ordered-keys.ts';

export interface OrderedPlaces {
  readonly total: number;
  page(direction: Direction, page: Pick<PageRequest, 'limit' | 'offset'>): readonly TransactionPlace[];
  /**
   * Number of transactions up to the position of a cursor, including the transaction at that position.
   *
   * @throws ProtocolError `CURSOR_INVALID`
   */
  offsetAfter(cursor: Cursor, direction: Direction): number;
}

/**
 * A list of transactions that a filter can select: all transactions, the transactions of one type, or the transactions
 * of one address. For an address, the list has the sent transactions, the received transactions, or both (`party`). The
 * store can have the list in several sort orders.
 */
export type ListFilter =
  | { readonly kind: 'all' }
  | { readonly kind: 'type'; readonly type: number }
  | { readonly kind: 'sender' | 'recipient' | 'party'; readonly address: string };

/**
 * Returns an object that reads a list in the order `sort` (by amount, by fee, by type or by timestamp). The result is
 * undefined if the list is short, because the store has a short list only in the order of the chain, which is none of
 * these four orders. There are two exceptions: the result is always defined for the list of all transactions, and for
 * the list of one type in the order by type.
 *
 * @param shortListMax maximum number of items in a short list. For an address, the maximum applies to its two lists
 *   (sent and received) together
 * @param bounds bounds of the value by which the list is sorted. For the order by type, callers pass no bounds, because
 *   no filter limits the types to a range
 */
export function orderedPlaces(
  keys: KeyValueReader,
  shortListMax: number,
  filter: ListFilter,
  sort: TransactionSort,
  bounds: ValueBounds = {},
): OrderedPlaces | undefined {
  const order = TRANSACTION_ORDERS[sort];
  const over = (prefixes: readonly Buffer[], twice?: Buffer): OrderedPlaces => {
    const options = { prefixes, valueEnd: order.value.end, bounds, ...(twice === undefined ? {} : { twice }) };
    return new PlacesOfKeys(new OrderedKeys(keys, options), order);
  };
  switch (filter.kind) {
    case 'all':
      return order.table === undefined ? new PlacesOfTypes(keys, typesOf(keys)) : over([TABLES[order.table].start]);
    case 'type': {
      const list = TABLES.transactionsByType.prefix(filter.type);
      if (order.table === undefined) return new PlacesOfTypes(keys, [filter.type]);
      return listLength(keys, list) > shortListMax ? over([TABLES.longLists.prefix(list, order.number)]) : undefined;
    }
    default: {
      const { kind, address } = filter;
      const sentList = TABLES.transactionsBySender.prefix(address);
      const receivedList = TABLES.transactionsByRecipient.prefix(address);
      if (listLength(keys, sentList) + listLength(keys, receivedList) <= shortListMax) return undefined;
      const sent = TABLES.longLists.prefix(sentList, order.number);
      const received = TABLES.longLists.prefix(receivedList, order.number);
      if (kind !== 'party') return over([kind === 'sender' ? sent : received]);
      return over([sent, received], TABLES.longLists.prefix(selfListKey(address), order.number));
    }
  }
}

/** Returns the cursor of a transaction in the sort order `sort`. */
export function cursorOf(transaction: Transaction, { height, index }: TransactionPlace, sort: TransactionSort): Cursor {
  return { value: TRANSACTION_ORDERS[sort].of(transaction).toString(), tie: `${height}.${index}` };
}

/** @throws ProtocolError `CURSOR_INVALID` */
export function placeOfCursor({ tie }: Cursor): TransactionPlace {
  const [, height, index] = /^([0-9]{1,10})\.([0-9]{1,5})$/.exec(tie) ?? [];
  const place = { height: Number(height), index: Number(index) };
  if (!isU32(place.height) || !isU16(place.index)) throw new ProtocolError('CURSOR_INVALID', { tie });
  return place;
}

/** @throws ProtocolError `CURSOR_INVALID` */
export function valueOfCursor({ value }: Cursor): bigint {
  if (!/^-?[0-9]{1,30}$/.test(value)) throw new ProtocolError('CURSOR_INVALID', { value });
  return BigInt(value);
}

class PlacesOfKeys implements OrderedPlaces {
  readonly #keys: OrderedKeys;
  readonly #order: TransactionOrder;

  constructor(keys: OrderedKeys, order: TransactionOrder) {
    this.#keys = keys;
    this.#order = order;
  }

  get total(): number {
    return this.#keys.total;
  }

  page(direction: Direction, page: Pick<PageRequest, 'limit' | 'offset'>): readonly TransactionPlace[] {
    return this.#keys.page(direction, page).map(placeAtEnd);
  }

  offsetAfter(cursor: Cursor, direction: Direction): number {
    const { value } = this.#order;
    const bytes = bytesOf(value, value.nearest(valueOfCursor(cursor)));
    return this.#keys.offsetAfter(Buffer.concat([bytes, placeBytes(placeOfCursor(cursor))]), direction);
  }
}

/**
 * Reads the transactions of one or more types in the order by type. This order needs no index of its own: the lists of
 * the single types, one after the other, give the transactions in this order.
 */
class PlacesOfTypes implements OrderedPlaces {
  readonly #keys: KeyValueReader;
  readonly #types: readonly number[];

  /** @param types transaction types in ascending order */
  constructor(keys: KeyValueReader, types: readonly number[]) {
    this.#keys = keys;
    this.#types = types;
  }

  get total(): number {
    return this.#types.reduce((sum, type) => sum + listLength(this.#keys, TABLES.transactionsByType.prefix(type)), 0);
  }

  page(direction: Direction, { limit, offset }: Pick<PageRequest, 'limit' | 'offset'>): readonly TransactionPlace[] {
    const items: TransactionPlace[] = [];
    let passed = 0;
    for (const type of this.#directed(direction)) {
      const list = TABLES.transactionsByType.prefix(type);
      const length = listLength(this.#keys, list);
      const skip = Math.max(0, offset - passed);
      if (skip < length) {
        const range = { ...prefixRange(list), offset: skip, limit: limit - items.length };
        for (const key of this.#keys.keys(range)) items.push(placeAtEnd(key));
      }
      if (items.length >= limit) break;
      passed += length;
    }
    return items;
  }

  offsetAfter(cursor: Cursor, direction: Direction): number {
    const value = Number(valueOfCursor(cursor));
    const place = placeOfCursor(cursor);
    let offset = 0;
    for (const type of this.#directed(direction)) {
      const list = TABLES.transactionsByType.prefix(type);
      if (type === value) return offset + this.#countThrough(list, place);
      if (direction === 'asc' ? type > value : type < value) break;
      offset += listLength(this.#keys, list);
    }
    return offset;
  }

  #directed(direction: Direction): readonly number[] {
    return direction === 'asc' ? this.#types : [...this.#types].reverse();
  }

  /**
   * Returns the number of entries from the start of a list to the entry with the given place. The result includes this
   * entry. Lists are in the order of the chain, so these entries are one range of keys.
   */
  #countThrough(list: Buffer, place: TransactionPlace): number {
    return this.#keys.count({ gte: list, lt: afterPrefix(listPlaceKey(list, place)) });
  }
}

/** Returns the types of the transactions in the chain, in ascending order. */
function typesOf(keys: KeyValueReader): readonly number[] {
  const { gte, lt } = TABLES.transactionsByType.all;
  const types: number[] = [];
  let from = gte;
  for (;;) {
    const [first] = keys.keys({ gte: from, lt, limit: 1 });
    if (first === undefined) return types;
    const [type] = TABLES.transactionsByType.read(first);
    types.push(type);
    from = TABLES.transactionsByType.range(type).lt;
  }
}
