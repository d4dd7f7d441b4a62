/** Transactions in an order that an index holds: pages at any depth, exact totals, and places to go on from. */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Cursor, Direction, PageRequest, TransactionQuery } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Transaction } from '../../protocol/types.ts';
import { listLength } from '../index/transaction-lists.ts';
import { amountOf } from '../index/indexes.ts';
import { afterPrefix, prefixRange, type KeyValueReader } from '../tables/key-value.ts';
import { LIST_SORTS, listPlaceKey, selfListKey, type TableName, TABLES } from '../tables/layout.ts';
import {
  isU16,
  isU32,
  orderedBigint,
  orderedBigintBytes,
  placeAtEnd,
  placeBytes,
  timestampBytes,
  typeBytes,
} from '../tables/ordered-bytes.ts';
import { OrderedKeys, type ValueBounds, type ValueEnd } from './ordered-keys.ts';

export type TransactionSort = TransactionQuery['sort']['field'];

export interface OrderedPlaces {
  readonly total: number;
  page(direction: Direction, page: Pick<PageRequest, 'limit' | 'offset'>): readonly TransactionPlace[];
  /** How many stand before and at the place of a cursor. @throws ProtocolError `CURSOR_INVALID` */
  offsetAfter(cursor: Cursor, direction: Direction): number;
}

/** A list that filters name, of which an order may be kept. */
export type ListFilter =
  | { readonly kind: 'all' }
  | { readonly kind: 'type'; readonly type: number }
  | { readonly kind: 'sender' | 'recipient' | 'party'; readonly address: string };

const TABLE_OF_SORT: Readonly<Record<Exclude<TransactionSort, 'type'>, TableName>> = {
  amount: 'transactionsByAmount',
  fee: 'transactionsByFee',
  timestamp: 'transactionsByTimestamp',
};

const VALUE_END: Readonly<Record<TransactionSort, ValueEnd>> = {
  amount: (key, at) => at + orderedBigintBytes(key, at),
  fee: (key, at) => at + orderedBigintBytes(key, at),
  timestamp: (_key, at) => at + 4,
  type: (_key, at) => at + 2,
};

/**
 * A list in an order; undefined when the list is too short to be kept in any.
 *
 * @param bounds of the value sorted by; not for the order by type
 */
export function orderedPlaces(
  keys: KeyValueReader,
  shortListMax: number,
  filter: ListFilter,
  sort: TransactionSort,
  bounds: ValueBounds = {},
): OrderedPlaces | undefined {
  const over = (prefixes: readonly Buffer[], twice?: Buffer): OrderedPlaces => {
    const options = { prefixes, valueEnd: VALUE_END[sort], bounds, ...(twice === undefined ? {} : { twice }) };
    return new PlacesOfKeys(new OrderedKeys(keys, options), sort);
  };
  switch (filter.kind) {
    case 'all':
      return sort === 'type' ? new PlacesOfTypes(keys, typesOf(keys)) : over([TABLES[TABLE_OF_SORT[sort]].start]);
    case 'type': {
      const list = TABLES.transactionsByType.prefix(filter.type);
      if (sort === 'type') return new PlacesOfTypes(keys, [filter.type]);
      return listLength(keys, list) > shortListMax
        ? over([TABLES.longLists.prefix(list, LIST_SORTS[sort])])
        : undefined;
    }
    default: {
      const { kind, address } = filter;
      const sentList = TABLES.transactionsBySender.prefix(address);
      const receivedList = TABLES.transactionsByRecipient.prefix(address);
      if (listLength(keys, sentList) + listLength(keys, receivedList) <= shortListMax) return undefined;
      const sent = TABLES.longLists.prefix(sentList, LIST_SORTS[sort]);
      const received = TABLES.longLists.prefix(receivedList, LIST_SORTS[sort]);
      if (kind !== 'party') return over([kind === 'sender' ? sent : received]);
      return over([sent, received], TABLES.longLists.prefix(selfListKey(address), LIST_SORTS[sort]));
    }
  }
}

/** Where a transaction stands in an order. */
export function cursorOf(transaction: Transaction, { height, index }: TransactionPlace, sort: TransactionSort): Cursor {
  const value = sort === 'amount' ? amountOf(transaction) : transaction[sort];
  return { value: value.toString(), tie: `${height}.${index}` };
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
  readonly #sort: TransactionSort;

  constructor(keys: OrderedKeys, sort: TransactionSort) {
    this.#keys = keys;
    this.#sort = sort;
  }

  get total(): number {
    return this.#keys.total;
  }

  page(direction: Direction, page: Pick<PageRequest, 'limit' | 'offset'>): readonly TransactionPlace[] {
    return this.#keys.page(direction, page).map(placeAtEnd);
  }

  offsetAfter(cursor: Cursor, direction: Direction): number {
    const value = bytesOf(valueOfCursor(cursor), this.#sort);
    return this.#keys.offsetAfter(Buffer.concat([value, placeBytes(placeOfCursor(cursor))]), direction);
  }
}

/** The order by type needs no values: it is the lists of the types, one behind the other. */
class PlacesOfTypes implements OrderedPlaces {
  readonly #keys: KeyValueReader;
  readonly #types: readonly number[];

  /** @param types ascending */
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

  /** Items of a list up to a place: lists are in the order of the chain. */
  #countThrough(list: Buffer, place: TransactionPlace): number {
    return this.#keys.count({ gte: list, lt: afterPrefix(listPlaceKey(list, place)) });
  }
}

/** Types that occur, ascending. */
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

function bytesOf(value: bigint, sort: TransactionSort): Buffer {
  switch (sort) {
    case 'amount':
    case 'fee':
      return orderedBigint(value);
    case 'timestamp':
      return timestampBytes(Number(BigInt.asIntN(32, value)));
    case 'type':
      return typeBytes(Number(BigInt.asUintN(16, value)));
  }
}
