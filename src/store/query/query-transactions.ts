/**
 * Answers queries for transactions. If an index contains exactly the matching transactions in the requested order, the
 * query reads the requested page from this index. If there is no such index, the query chooses a set of candidates. The
 * set contains all matching transactions, and perhaps other transactions. If there are several such sets, the query
 * chooses the smallest set. The query filters and sorts a small set in one step, and a larger set in chunks
 * (background-queries.ts). If the set is too large for sorting, the query reads an index that has the requested order.
 * The query reads this index in chunks, and filters the transactions of the index.
 */

import { assert } from '../../primitives/errors.ts';
import type {
  Cursor,
  DappQuery,
  Direction,
  Page,
  TransactionEntry,
  TransactionQuery,
  TransactionSort,
} from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Transaction } from '../../protocol/types.ts';
import { transactionTotal } from '../tables/stored-transactions.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { TRANSACTION_ORDERS } from '../tables/layout.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { CHUNK_ITEMS, sortInChunks, type BackgroundQueries, type Pause } from './background-queries.ts';
import { cursorOf, orderedPlaces, placeOfCursor, valueOfCursor, type OrderedPlaces } from './ordered-places.ts';
import { compareTexts, compareValues, directed, emptyPage, firstOf, listPage, type Compare } from './pages.ts';
import { inList } from './candidates.ts';
import { boundsOf, candidatesOf, predicateOf, exactListOf, listFiltersOf } from './filter-plan.ts';

/**
 * Type of a transaction that registers an application. After the genesis block, only the blocks below a fixed height of
 * the network (`Exceptions.precedent`) are allowed to contain this type.
 */
const DAPP_TYPE = 5;

/** The place of a transaction (height and index) as one number, which saves memory in long lists. */
type PackedPlace = number;

/** The type `T` without `readonly`, for code that adds the members of an object one by one. */
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Found {
  readonly place: TransactionPlace;
  readonly value: bigint | number;
}

export class TransactionQueries {
  readonly #store: StoredChain;
  readonly #work: BackgroundQueries;

  constructor(store: StoredChain, work: BackgroundQueries) {
    this.#store = store;
    this.#work = work;
  }

  count(): number {
    return transactionTotal(this.#store.tables, this.#store.tip()?.height ?? 0);
  }

  async transactions(query: TransactionQuery): Promise<Page<TransactionEntry>> {
    const store = this.#store;
    const ordered = orderedBy(store, query);
    if (ordered !== undefined) return orderedPage(store, ordered, query);
    const predicate = predicateOf(store, query);
    if (predicate === undefined) return emptyPage();
    const candidates = candidatesOf(store, query);
    if (candidates.size > this.#work.options.atOnceMax) {
      return this.#work.read(
        nameOf(query),
        (snapshot, pause) => findInPieces(snapshot, query, this.#work.options.sortedMax, pause),
        (list, at) => packedPage(at, list, query),
      );
    }
    const found: (Found & { readonly transaction: Transaction })[] = [];
    for (const place of candidates.places()) {
      const transaction = transactionAt(store, place);
      if (predicate(transaction, place))
        found.push({ place, transaction, value: sortValue(transaction, query.sort.field) });
    }
    const order = orderOf(query.sort.direction);
    const page = listPage(found.sort(order), query, {
      cursorOf: ({ place, value }) => ({ value: value.toString(), tie: `${place.height}.${place.index}` }),
      compareWith: (cursor) => {
        const target = foundAt(cursor);
        return (item) => order(item, target);
      },
    });
    return { ...page, items: page.items.map(({ place, transaction }) => entryOf(store, place, transaction)) };
  }

  /**
   * Finds registrations of applications. A registration is a transaction. A registration matches if its transaction id
   * is the given id, or if it registers the given name. If neither an id nor a name is given, the result is all
   * registrations. A chain has few registrations: after the genesis block, only the blocks below a fixed height of the
   * network (`Exceptions.precedent`) are allowed to contain registrations.
   */
  dapps({ transactionId, name, sort, ...page }: DappQuery): Page<TransactionEntry> {
    const store = this.#store;
    const found: { readonly place: TransactionPlace; readonly name: string }[] = [];
    for (const place of inList(store, { kind: 'type', type: DAPP_TYPE }).places()) {
      const { id, payload } = transactionAt(store, place);
      if (payload.kind !== 'dapp') continue;
      const isAny = transactionId === undefined && name === undefined;
      if (isAny || id === transactionId || payload.dapp.name === name) found.push({ place, name: payload.dapp.name });
    }
    type Named = (typeof found)[number];
    const order = firstOf<Named>(
      directed((a, b) => compareTexts(a.name, b.name), sort.direction),
      (a, b) => comparePlaces(a.place, b.place),
    );
    const { items, ...rest } = listPage(found.sort(order), page, {
      cursorOf: ({ place, name: value }) => ({ value, tie: `${place.height}.${place.index}` }),
      compareWith: (cursor) => {
        const target = { name: cursor.value, place: placeOfCursor(cursor) };
        return (item) => order(item, target);
      },
    });
    return { ...rest, items: items.map(({ place }) => entryOf(store, place)) };
  }
}

/**
 * Returns a reader of the index that has exactly the requested transactions in the requested order. The result is
 * undefined if there is no such index.
 */
function orderedBy(store: StoredChain, query: TransactionQuery): OrderedPlaces | undefined {
  const list = exactListOf(store, query);
  const bounds = boundsOf(store, query);
  if (list === undefined || bounds === undefined) return undefined;
  return orderedPlaces(store.tables, store.shortListMax, list, query.sort.field, bounds);
}

function orderedPage(store: StoredChain, ordered: OrderedPlaces, query: TransactionQuery): Page<TransactionEntry> {
  const { field, direction } = query.sort;
  const offset = query.after === undefined ? query.offset : ordered.offsetAfter(query.after, direction);
  const places = ordered.page(direction, { limit: query.limit, offset });
  const { total } = ordered;
  const items = places.map((place) => entryOf(store, place));
  const [lastPlace, last] = [places.at(-1), items.at(-1)];
  if (lastPlace === undefined || last === undefined || offset + items.length >= total) return { items, total };
  return { items, total, next: cursorOf(last.transaction, lastPlace, field) };
}

/**
 * Returns the places of all matching transactions, in the requested order. The function awaits `pause` after each chunk
 * of its work.
 */
async function findInPieces(
  store: StoredChain,
  query: TransactionQuery,
  sortedMax: number,
  pause: Pause,
): Promise<readonly PackedPlace[]> {
  const predicate = predicateOf(store, query);
  if (predicate === undefined) return [];
  const { field, direction } = query.sort;
  const candidates = candidatesOf(store, query);
  if (candidates.size <= sortedMax) {
    const found: Found[] = [];
    let seen = 0;
    for (const place of candidates.places()) {
      const transaction = transactionAt(store, place);
      if (predicate(transaction, place)) found.push({ place, value: sortValue(transaction, field) });
      seen += 1;
      if (seen % CHUNK_ITEMS === 0) await pause();
    }
    return (await sortInChunks(found, orderOf(direction), pause)).map(({ place }) => packed(place));
  }
  const walked = shortestOrder(store, query);
  const found: PackedPlace[] = [];
  for (let offset = 0; offset < walked.total; offset += CHUNK_ITEMS) {
    for (const place of walked.page(direction, { limit: CHUNK_ITEMS, offset })) {
      if (predicate(transactionAt(store, place), place)) found.push(packed(place));
    }
    await pause();
  }
  return found;
}

/**
 * Returns a reader of the shortest list for which two conditions hold: the list contains all matching transactions, and
 * an index has the list in the requested order.
 */
function shortestOrder(store: StoredChain, query: TransactionQuery): OrderedPlaces {
  const { field } = query.sort;
  const ordered = listFiltersOf(store, query).flatMap((list) => {
    return orderedPlaces(store.tables, store.shortListMax, list, field, boundsOf(store, query)) ?? [];
  });
  return ordered.reduce((best, order) => (order.total < best.total ? order : best));
}

function packedPage(store: StoredChain, list: readonly PackedPlace[], query: TransactionQuery): Page<TransactionEntry> {
  const { field, direction } = query.sort;
  const order = orderOf(direction);
  const page = listPage(list, query, {
    cursorOf: (at) => cursorOf(transactionAt(store, unpacked(at)), unpacked(at), field),
    compareWith: (cursor) => {
      const target = foundAt(cursor);
      return (at) => {
        const place = unpacked(at);
        return order({ place, value: sortValue(transactionAt(store, place), field) }, target);
      };
    },
  });
  return { ...page, items: page.items.map((at) => entryOf(store, unpacked(at))) };
}

/**
 * Returns the key under which `BackgroundQueries` keeps the result of a query. The key consists of the filters and the
 * sort order, without `limit`, `offset` and `after`. All pages of a query therefore have the same key.
 */
function nameOf({ limit: _limit, offset: _offset, after: _after, ...list }: TransactionQuery): string {
  return `transactions ${JSON.stringify(list, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`;
}

function orderOf(direction: Direction): Compare<Found> {
  return firstOf<Found>(
    directed((a, b) => compareValues(a.value, b.value), direction),
    (a, b) => comparePlaces(a.place, b.place),
  );
}

function foundAt(cursor: Cursor): Found {
  return { value: valueOfCursor(cursor), place: placeOfCursor(cursor) };
}

function comparePlaces(a: TransactionPlace, b: TransactionPlace): number {
  return a.height - b.height || a.index - b.index;
}

const INDEXES = 0x1_0000;

function packed({ height, index }: TransactionPlace): PackedPlace {
  return height * INDEXES + index;
}

function unpacked(place: PackedPlace): TransactionPlace {
  return { height: Math.floor(place / INDEXES), index: place % INDEXES };
}

function sortValue(transaction: Transaction, field: TransactionSort): bigint | number {
  return TRANSACTION_ORDERS[field].of(transaction);
}

function transactionAt(store: StoredChain, place: TransactionPlace): Transaction {
  const transaction = store.transaction(place);
  assert(transaction !== undefined, 'an index points to a transaction');
  return transaction;
}

function entryOf(
  store: StoredChain,
  place: TransactionPlace,
  transaction: Transaction = transactionAt(store, place),
): TransactionEntry {
  const header = store.header(place.height);
  assert(header !== undefined, 'a transaction is in a block');
  const recipientId = recipientOf(transaction);
  const recipient = recipientId === undefined ? undefined : store.account(recipientId);
  const sender = store.account(transaction.senderId);
  const entry: Mutable<TransactionEntry> = { transaction, blockId: header.id, height: place.height };
  if (recipient?.publicKey !== undefined) entry.recipientPublicKey = recipient.publicKey;
  if (sender?.secondPublicKey !== undefined) entry.senderSecondPublicKey = sender.secondPublicKey;
  return entry;
}
