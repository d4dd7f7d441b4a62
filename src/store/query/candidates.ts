/**
 * Makes sets of candidates. A candidate is the place of a transaction that possibly matches a query. A set of
 * candidates for a query includes the places of all transactions that match the query, and perhaps the places of other
 * transactions.
 */

import type { TransactionPlace } from '../../ports/store.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { listLength } from '../index/transaction-lists.ts';
import { prefixRange, type KeyRange } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { placeAtEnd } from '../tables/ordered-bytes.ts';
import { transactionTotal } from '../tables/stored-transactions.ts';
import type { ListFilter } from './ordered-places.ts';

export interface Candidates {
  /**
   * Number of candidates, or a higher number: if the candidates are the sent and received transactions of an address,
   * `size` counts each transaction from the address to itself twice.
   */
  readonly size: number;
  /** The places of the candidates, each place once, in any order. */
  places(): Iterable<TransactionPlace>;
}

export const NOTHING: Candidates = { size: 0, places: () => [] };

export function withId(store: StoredChain, id: string): Candidates {
  const place = store.transactionPlace(id);
  return place === undefined ? NOTHING : { size: 1, places: () => [place] };
}

export function ofBlock(store: StoredChain, height: number): Candidates {
  if (store.header(height) === undefined) return NOTHING;
  const size = transactionTotal(store.tables, height) - transactionTotal(store.tables, height - 1);
  return { size, places: () => Array.from({ length: size }, (_, index) => ({ height, index })) };
}

/**
 * Returns the places of all transactions in a range of index keys. Each key in the range must end with the place of its
 * transaction.
 */
export function inRange({ tables }: StoredChain, range: Pick<KeyRange, 'gte' | 'lt'>): Candidates {
  if (Buffer.compare(range.gte, range.lt) >= 0) return NOTHING;
  return { size: tables.count(range), places: () => Array.from(tables.keys(range), placeAtEnd) };
}

/** Returns the places of all transactions in the list that `filter` selects. */
export function inList(store: StoredChain, filter: ListFilter): Candidates {
  switch (filter.kind) {
    case 'all':
      return everything(store);
    case 'type':
      return ofPrefix(store, TABLES.transactionsByType.prefix(filter.type));
    case 'sender':
      return ofPrefix(store, TABLES.transactionsBySender.prefix(filter.address));
    case 'recipient':
      return ofPrefix(store, TABLES.transactionsByRecipient.prefix(filter.address));
    case 'party':
      return ofParty(store, filter.address);
  }
}

function ofPrefix({ tables }: StoredChain, list: Buffer): Candidates {
  return {
    size: listLength(tables, list),
    places: () => Array.from(tables.keys(prefixRange(list)), placeAtEnd),
  };
}

function ofParty(store: StoredChain, address: string): Candidates {
  const sent = inList(store, { kind: 'sender', address });
  const received = inList(store, { kind: 'recipient', address });
  return {
    size: sent.size + received.size,
    places: () => {
      // A transaction from an address to itself is in `sent` and in `received`. The place of such a transaction must be
      // returned only once.
      const places = new Map<string, TransactionPlace>();
      for (const list of [sent, received]) {
        for (const place of list.places()) places.set(`${place.height}.${place.index}`, place);
      }
      return places.values();
    },
  };
}

function everything(store: StoredChain): Candidates {
  return {
    size: transactionTotal(store.tables, store.tip()?.height ?? 0),
    places: () => allPlaces(store),
  };
}

function allPlaces({ tables }: StoredChain): readonly TransactionPlace[] {
  const places: TransactionPlace[] = [];
  for (const { key, value } of tables.entries(TABLES.transactionTotals.all)) {
    const from = places.length;
    const [height] = TABLES.transactionTotals.read(key);
    for (const total = Number(value.readBigUInt64BE()); places.length < total;) {
      places.push({ height, index: places.length - from });
    }
  }
  return places;
}
