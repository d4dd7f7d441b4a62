/**
 * Transactions as readers ask for them. What an index already holds in the wanted order is read from there; everything else
 * goes through the shortest list of candidates, is filtered one by one and sorted in memory.
 */

import { addressOf } from '../crypto/keys.ts';
import { assert } from '../primitives/errors.ts';
import type { DappQuery, Page, TransactionEntry, TransactionQuery } from '../ports/queries.ts';
import type { TransactionPlace } from '../ports/store.ts';
import type { Transaction } from '../protocol/types.ts';
import { listLength, transactionTotal } from './block-tables.ts';
import type { StoredChain } from './chain-store.ts';
import { amountOf, dataKey, dataOf, recipientOf } from './indexes.ts';
import { afterPrefix, prefixRange, type KeyRange } from './key-value.ts';
import {
  addressListKey,
  amountKey,
  isU16,
  listItemKey,
  PLACE_BYTES,
  placeAtEnd,
  tablePrefix,
  timestampKey,
  typeListKey,
} from './layout.ts';
import { LikePattern } from './like.ts';
import { compareTexts, compareValues, directed, emptyPage, firstOf, indexPage, pageOf } from './pages.ts';

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;
const ADDRESS_BYTES_MAX = 255;
/** The same number in the history of both generations. */
const DAPP_TYPE = 5;
const TIMESTAMP_MIN = -0x8000_0000;
const TIMESTAMP_MAX = 0x7fff_ffff;

/** Some transactions in the order of the chain, all of them that can fit one of the filters. */
interface Candidates {
  readonly size: number;
  places(): Iterable<TransactionPlace>;
}

const NOTHING: Candidates = { size: 0, places: () => [] };

export class TransactionQueries {
  readonly #store: StoredChain;

  constructor(store: StoredChain) {
    this.#store = store;
  }

  count(): number {
    return transactionTotal(this.#store.tables, this.#store.tip()?.height ?? 0);
  }

  transactions(query: TransactionQuery): Page<TransactionEntry> {
    const page = this.#indexed(query) ?? this.#filtered(query);
    return { items: page.items.map((place) => this.#entry(place)), total: page.total };
  }

  /** Registrations of applications: a closed piece of history, some hundred at most. */
  dapps({ transactionId, name, sort, ...page }: DappQuery): Page<TransactionEntry> {
    const found: { readonly place: TransactionPlace; readonly name: string }[] = [];
    for (const place of this.#listPlaces(prefixRange(typeListKey(DAPP_TYPE)))) {
      const { id, payload } = this.#transaction(place);
      if (payload.kind !== 'dapp') continue;
      const isAny = transactionId === undefined && name === undefined;
      if (isAny || id === transactionId || payload.dapp.name === name) found.push({ place, name: payload.dapp.name });
    }
    const { items, total } = pageOf(found.sort(directed((a, b) => compareTexts(a.name, b.name), sort.direction)), page);
    return { items: items.map(({ place }) => this.#entry(place)), total };
  }

  /** The page, when an index holds exactly what is asked for in the wanted order. */
  #indexed(query: TransactionQuery): Page<TransactionPlace> | undefined {
    const { limit: _limit, offset: _offset, sort, ...filters } = query;
    const given = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const only = (...names: readonly string[]): boolean => given.every((name) => names.includes(name));
    if (sort.field === 'type' && only('type')) {
      const types = query.type === undefined ? this.#types() : isU16(query.type) ? [typeListKey(query.type)] : [];
      return this.#pageOfLists(sort.direction === 'asc' ? types : [...types].reverse(), query);
    }
    const range =
      sort.field === 'amount' && only('minAmount', 'maxAmount')
        ? amountRange(query)
        : sort.field === 'timestamp' && only('fromTimestampS', 'toTimestampS')
          ? timestampRange(query)
          : sort.field === 'fee' && only()
            ? prefixRange(tablePrefix('transactionsByFee'))
            : undefined;
    if (range === undefined) return undefined;
    const { tables } = this.#store;
    const keys = indexPage(tables, range, (key) => key.length - PLACE_BYTES, sort.direction, query);
    return { items: keys.map(placeAtEnd), total: given.length === 0 ? this.count() : tables.count(range) };
  }

  #filtered(query: TransactionQuery): Page<TransactionPlace> {
    const fits = this.#filterOf(query);
    if (fits === undefined) return emptyPage();
    const found: { readonly place: TransactionPlace; readonly value: bigint | number }[] = [];
    for (const place of this.#shortest(query).places()) {
      const transaction = this.#transaction(place);
      if (fits(transaction, place)) found.push({ place, value: sortValue(transaction, query.sort.field) });
    }
    found.sort(
      firstOf(
        directed((a, b) => compareValues(a.value, b.value), query.sort.direction),
        (a, b) => a.place.height - b.place.height || a.place.index - b.place.index,
      ),
    );
    const { items, total } = pageOf(found, query);
    return { items: items.map(({ place }) => place), total };
  }

  /** All filters as one claim; undefined when nothing can fit. */
  #filterOf(query: TransactionQuery): ((transaction: Transaction, place: TransactionPlace) => boolean) | undefined {
    const senderPublicKey = query.senderPublicKey?.toLowerCase();
    const height = query.blockId === undefined ? query.height : this.#store.heightOf(query.blockId);
    if (query.blockId !== undefined && height === undefined) return undefined;
    const recipientKey = query.recipientPublicKey?.toLowerCase();
    const recipientOfKey = recipientKey === undefined ? undefined : this.#addressWithKey(recipientKey);
    if (recipientKey !== undefined && recipientOfKey === undefined) return undefined;
    const data = query.dataPattern === undefined ? undefined : new LikePattern(Buffer.from(query.dataPattern, 'utf8'));
    const { senderIdOrRecipientId: either } = query;
    return (transaction, place) => {
      const recipientId = recipientOf(transaction);
      const isSender = query.senderId === undefined || transaction.senderId === query.senderId;
      const isRecipient = query.recipientId === undefined || recipientId === query.recipientId;
      const isParty =
        either === undefined
          ? isSender && isRecipient
          : // Each half of the OR replaces the filter of its own side.
            (transaction.senderId === either && isRecipient) || (recipientId === either && isSender);
      return (
        isParty &&
        (query.id === undefined || transaction.id === query.id) &&
        (height === undefined || place.height === height) &&
        (query.height === undefined || place.height === query.height) &&
        (query.type === undefined || transaction.type === query.type) &&
        (senderPublicKey === undefined || transaction.senderPublicKey === senderPublicKey) &&
        (recipientOfKey === undefined || recipientId === recipientOfKey) &&
        (query.minAmount === undefined || amountOf(transaction) >= query.minAmount) &&
        (query.maxAmount === undefined || amountOf(transaction) <= query.maxAmount) &&
        (query.fromTimestampS === undefined || transaction.timestamp >= query.fromTimestampS) &&
        (query.toTimestampS === undefined || transaction.timestamp <= query.toTimestampS) &&
        (data === undefined || fitsData(data, transaction))
      );
    };
  }

  /** The fewest candidates that one filter leaves. */
  #shortest(query: TransactionQuery): Candidates {
    const choices: Candidates[] = [];
    if (query.id !== undefined) choices.push(this.#withId(query.id));
    if (query.blockId !== undefined) choices.push(this.#ofBlock(this.#store.heightOf(query.blockId) ?? 0));
    if (query.height !== undefined) choices.push(this.#ofBlock(query.height));
    if (query.senderIdOrRecipientId !== undefined) choices.push(this.#ofParty(query.senderIdOrRecipientId));
    else if (query.senderId !== undefined) choices.push(this.#ofAddress('transactionsBySender', query.senderId));
    else if (query.recipientId !== undefined) {
      choices.push(this.#ofAddress('transactionsByRecipient', query.recipientId));
    }
    if (query.senderPublicKey !== undefined) {
      const key = query.senderPublicKey.toLowerCase();
      choices.push(PUBLIC_KEY_TEXT.test(key) ? this.#ofAddress('transactionsBySender', addressOf(key)) : NOTHING);
    }
    if (query.recipientPublicKey !== undefined) {
      const address = this.#addressWithKey(query.recipientPublicKey.toLowerCase());
      choices.push(address === undefined ? NOTHING : this.#ofAddress('transactionsByRecipient', address));
    }
    if (query.type !== undefined) choices.push(isU16(query.type) ? this.#ofList(typeListKey(query.type)) : NOTHING);
    if (query.minAmount !== undefined || query.maxAmount !== undefined) {
      choices.push(this.#ofRange(amountRange(query)));
    }
    if (query.fromTimestampS !== undefined || query.toTimestampS !== undefined) {
      choices.push(this.#ofRange(timestampRange(query)));
    }
    if (query.dataPattern !== undefined) choices.push(this.#withData(query.dataPattern));
    const all = { size: this.count(), places: () => this.#allPlaces() };
    return choices.reduce<Candidates>((best, choice) => (choice.size < best.size ? choice : best), all);
  }

  #withId(id: string): Candidates {
    const place = this.#store.transactionPlace(id);
    return place === undefined ? NOTHING : { size: 1, places: () => [place] };
  }

  #ofBlock(height: number): Candidates {
    const header = this.#store.header(height);
    if (header === undefined) return NOTHING;
    const size = transactionTotal(this.#store.tables, height) - transactionTotal(this.#store.tables, height - 1);
    return { size, places: () => Array.from({ length: size }, (_, index) => ({ height, index })) };
  }

  #ofAddress(table: 'transactionsBySender' | 'transactionsByRecipient', address: string): Candidates {
    if (Buffer.byteLength(address) > ADDRESS_BYTES_MAX) return NOTHING;
    return this.#ofList(addressListKey(table, address));
  }

  #ofParty(address: string): Candidates {
    const sent = this.#ofAddress('transactionsBySender', address);
    const received = this.#ofAddress('transactionsByRecipient', address);
    return {
      size: sent.size + received.size,
      places: () => {
        // A transaction to oneself stands in both lists and is one transaction.
        const places = new Map<string, TransactionPlace>();
        for (const list of [sent, received]) {
          for (const place of list.places()) places.set(`${place.height}.${place.index}`, place);
        }
        return places.values();
      },
    };
  }

  #ofList(list: Buffer): Candidates {
    const { tables } = this.#store;
    return { size: listLength(tables, list), places: () => this.#listPlaces(prefixRange(list)) };
  }

  #ofRange(range: Pick<KeyRange, 'gte' | 'lt'>): Candidates {
    const { tables } = this.#store;
    if (Buffer.compare(range.gte, range.lt) >= 0) return NOTHING;
    return { size: tables.count(range), places: () => Array.from(tables.keys(range), placeAtEnd) };
  }

  #withData(pattern: string): Candidates {
    const prefix = new LikePattern(Buffer.from(pattern, 'utf8')).literalPrefix();
    return this.#ofRange(prefixRange(dataKey(Buffer.from(prefix))));
  }

  #allPlaces(): Iterable<TransactionPlace> {
    return Array.from(this.#store.tables.keys(prefixRange(tablePrefix('transactions'))), placeAtEnd);
  }

  #listPlaces(range: KeyRange): readonly TransactionPlace[] {
    return Array.from(this.#store.tables.entries(range), ({ value }) => placeAtEnd(value));
  }

  /** Types that occur, ascending, as prefixes of their lists. */
  #types(): readonly Buffer[] {
    const { gte, lt } = prefixRange(tablePrefix('transactionsByType'));
    const types: Buffer[] = [];
    let from = gte;
    for (;;) {
      const [first] = this.#store.tables.keys({ gte: from, lt, limit: 1 });
      if (first === undefined) return types;
      const list = first.subarray(0, 3);
      types.push(list);
      from = afterPrefix(list);
    }
  }

  /** A page over lists put one behind the other. */
  #pageOfLists(lists: readonly Buffer[], { limit, offset }: TransactionQuery): Page<TransactionPlace> {
    const items: TransactionPlace[] = [];
    let total = 0;
    for (const list of lists) {
      const length = listLength(this.#store.tables, list);
      const skip = Math.max(0, offset - total);
      if (skip < length && items.length < limit) {
        const range = { gte: listItemKey(list, skip), lt: afterPrefix(list), limit: limit - items.length };
        items.push(...this.#listPlaces(range));
      }
      total += length;
    }
    return { items, total };
  }

  #addressWithKey(publicKey: string): string | undefined {
    if (!PUBLIC_KEY_TEXT.test(publicKey)) return undefined;
    const address = addressOf(publicKey);
    return this.#store.account(address)?.publicKey === publicKey ? address : undefined;
  }

  #transaction(place: TransactionPlace): Transaction {
    const transaction = this.#store.transaction(place);
    assert(transaction !== undefined, 'an index points to a transaction');
    return transaction;
  }

  #entry(place: TransactionPlace): TransactionEntry {
    const transaction = this.#transaction(place);
    const header = this.#store.header(place.height);
    assert(header !== undefined, 'a transaction stands in a block');
    const recipientId = recipientOf(transaction);
    const recipient = recipientId === undefined ? undefined : this.#store.account(recipientId);
    const sender = this.#store.account(transaction.senderId);
    return {
      transaction,
      blockId: header.id,
      height: place.height,
      ...(recipient?.publicKey === undefined ? {} : { recipientPublicKey: recipient.publicKey }),
      ...(sender?.secondPublicKey === undefined ? {} : { senderSecondPublicKey: sender.secondPublicKey }),
    };
  }
}

function fitsData(pattern: LikePattern, transaction: Transaction): boolean {
  const data = dataOf(transaction);
  return data !== undefined && pattern.matches(data);
}

function sortValue(transaction: Transaction, field: TransactionQuery['sort']['field']): bigint | number {
  return field === 'amount' ? amountOf(transaction) : transaction[field];
}

function amountRange({ minAmount, maxAmount }: TransactionQuery): Pick<KeyRange, 'gte' | 'lt'> {
  const table = prefixRange(tablePrefix('transactionsByAmount'));
  return {
    gte: minAmount === undefined ? table.gte : amountKey('transactionsByAmount', minAmount),
    lt: maxAmount === undefined ? table.lt : afterPrefix(amountKey('transactionsByAmount', maxAmount)),
  };
}

function timestampRange({ fromTimestampS, toTimestampS }: TransactionQuery): Pick<KeyRange, 'gte' | 'lt'> {
  const table = prefixRange(tablePrefix('transactionsByTimestamp'));
  const from = Math.ceil(fromTimestampS ?? TIMESTAMP_MIN);
  const to = Math.floor(toTimestampS ?? TIMESTAMP_MAX);
  return {
    gte: from > TIMESTAMP_MAX ? table.lt : timestampKey(Math.max(from, TIMESTAMP_MIN)),
    lt: to < TIMESTAMP_MIN ? table.gte : afterPrefix(timestampKey(Math.min(to, TIMESTAMP_MAX))),
  };
}
