/**
 * Reads and writes the indexes of transactions. One index contains the ids, and one index contains the data of
 * transfers. Three more indexes contain all transactions: one index is sorted by amount, one by fee, and one by
 * timestamp. Each transaction type has a list of its transactions in the order of the chain. Each address has two such
 * lists: a list of its sent transactions, and a list of its received transactions. New entries wait in memory, in a
 * pending index batch. At the end of a database transaction, or later in a backfill (a job that writes postponed
 * entries), the pending entries are sorted and written list by list, because writing each key alone takes several times
 * as long. Only new entries wait in the batch. Entries that must be removed do not wait: the method `remove` removes
 * them from the store immediately.
 *
 * Each list is stored in the order of the chain. A long list is also stored in every other sort order that a query can
 * ask for. A short list is stored only in the order of the chain, because each further sort order would need one more
 * entry for each transaction of the list. If a query asks for another order, the query sorts the few transactions of
 * the short list itself. For an address, the total number of sent and received transactions decides whether both lists
 * of the address are long. The two lists of an address therefore become long at the same time.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { assert } from '../../primitives/errors.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import { unpackParts } from '../../protocol/block/packed-block.ts';
import type { Codec } from '../../protocol/rules.ts';
import type { Address, Transaction, TransactionId } from '../../protocol/types.ts';
import type { CountedWriter } from './counted-key-sets.ts';
import { PostingLists } from './posting-lists.ts';
import { PendingIndexBatch } from './pending-index-batch.ts';
import { IdBloomFilter } from './id-bloom-filter.ts';
import { longListEntry, transactionDataEntry, transactionEntries } from './indexes.ts';
import { compareKeys, KeyBlock } from './key-block.ts';
import { prefixRange, type KeyValueReader, type KeyValueWriter } from '../tables/key-value.ts';
import type { TransactionSort } from '../../ports/queries.ts';
import { ADDRESS_ORDERS, listPlaceKey, selfListKey, TABLES, TYPE_ORDERS } from '../tables/layout.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { placeAtEnd, placeBytes } from '../tables/ordered-bytes.ts';
import { TRANSACTIONS_PER_VALUE } from '../tables/stored-transactions.ts';

/**
 * By default, a list with more transactions than this number is long. For an address, the transactions of its two lists
 * are counted together.
 */
export const SHORT_LIST_ITEMS_MAX = 256;
/**
 * Maximum number of addresses for which the number of transactions is cached. Each cached address takes about 150 bytes
 * of memory.
 */
export const ADDRESSES_CACHED_MAX = 65_536;
/**
 * Maximum number of types for which the number of transactions is cached. Each generation of the protocol has fewer
 * transaction types than this number.
 */
const TYPES_CACHED_MAX = 64;
/**
 * When lists become long (see `SHORT_LIST_ITEMS_MAX`), the store reads the transactions that these lists already
 * contain, in batches of about this number of transactions. A batch takes some megabytes of memory.
 */
const MEMBERS_AT_ONCE = 20_000;
/** Maximum number of ids that one chunk writes. */
const IDS_PER_CHUNK = 4096;
/**
 * Maximum number of keys of the table `transactionsByData` that one chunk writes. The number is smaller than
 * `IDS_PER_CHUNK`, because each key can change a different leaf block.
 */
const DATA_PER_CHUNK = 1024;
/**
 * Minimum number of ids in a disk page. `#idChunks` uses this number to estimate how many disk pages a chunk changes.
 */
const IDS_PER_PAGE = 64;
/**
 * Estimated number of disk pages that change when a leaf block changes. The number includes the pages of the inner
 * block above the leaf block.
 */
const PAGES_PER_LEAF = 3;

/**
 * Writes some index entries of the pending index batch (the transactions whose index entries are not written yet), and
 * returns the approximate number of changed disk pages. If the caller calls the same chunk a second time, nothing
 * changes.
 */
export type IndexChunk = (keys: CountedWriter) => number;

export class TransactionLists {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #shortMax: number;
  /**
   * For each cached address, the number of its sent transactions plus the number of its received transactions. A
   * transaction from an address to itself counts twice. Pending transactions are not included.
   */
  readonly #lengths = new LruMap<Address, number>(ADDRESSES_CACHED_MAX);
  readonly #typeLengths = new LruMap<number, number>(TYPES_CACHED_MAX);
  readonly #pending = new PendingIndexBatch();
  /** New keys of the table `transactionsByData`: one key for each pending transfer with data. */
  #data: Buffer[] = [];
  /**
   * Bloom filter with all stored and pending ids. It is possible that the filter also has the ids of transactions that
   * were removed from the chain, or that `forget` dropped from memory. The field is undefined before `fillBloomFilter`
   * and after `dropBloomFilter`.
   */
  #filter: IdBloomFilter | undefined;

  /**
   * @param shortMax maximum number of transactions in a short list of a transaction type. For an address, the maximum
   *   applies to its two lists (sent and received) together
   */
  constructor(keys: KeyValueReader, codec: Codec, shortMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#shortMax = shortMax;
  }

  /** Number of pending transactions. The index entries of a pending transaction are not written yet. */
  get pending(): number {
    return this.#pending.size;
  }

  /**
   * Place in the chain (height of the block, and index in the block) of the first transaction whose index entries are
   * not written yet; undefined if there is no such transaction.
   */
  get firstPending(): TransactionPlace | undefined {
    return this.#pending.size === 0 ? undefined : this.#pending.place(0);
  }

  place(id: TransactionId): TransactionPlace | undefined {
    const key = TABLES.transactionIds.key(id);
    if (this.#filter?.mayHold(key) === false) return undefined;
    const pending = this.#pending.placeOfId(key);
    if (pending !== undefined) return pending;
    const value = this.#keys.get(key);
    return value === undefined ? undefined : placeAtEnd(value);
  }

  /**
   * Puts all stored and pending ids into a Bloom filter. The filter speeds up lookups of ids that are not in the chain.
   */
  fillBloomFilter(): void {
    const filter = new IdBloomFilter();
    for (const key of this.#keys.keys(TABLES.transactionIds.all)) filter.add(key);
    for (const row of this.#pending.rows()) filter.add(this.#pending.idKey(row));
    this.#filter = filter;
  }

  /** Frees the memory of the Bloom filter. */
  dropBloomFilter(): void {
    this.#filter = undefined;
  }

  /**
   * Drops the cached list lengths and the pending index batch (the transactions whose index entries are not written
   * yet), for example after a failed database transaction.
   */
  forget(): void {
    this.#lengths.clear();
    this.#typeLengths.clear();
    this.#pending.clear();
    this.#data = [];
  }

  /**
   * Adds a transaction to the pending index batch (the transactions whose index entries are not written yet). The
   * caller must store the transaction itself before the caller writes the batch.
   */
  add(transaction: Transaction, place: TransactionPlace): void {
    const key = this.#pending.add(transaction, place);
    this.#filter?.add(key);
    const data = transactionDataEntry(transaction, place);
    if (data !== undefined) this.#data.push(data);
  }

  /**
   * Splits the pending index batch (the transactions whose index entries are not written yet) into chunks. The caller
   * must write each chunk before it asks for the next chunk. Between two chunks, the caller must neither append nor
   * remove a block. It is possible that the store already has some of the entries: an earlier process began to write
   * the entries of the same transactions, and was killed. Writing these entries again changes nothing.
   *
   * @param stored number of transactions in the chain, or 0 if the caller does not use the numbers of changed pages
   *   that the chunks return
   */
  *chunks(stored: number): Iterable<IndexChunk> {
    if (this.#pending.size === 0) return;
    const first = this.#pending.place(0);
    const lists = new PostingLists(this.#pending);
    const types = this.#grown(lists.types, lists.typeSizes(), (type) => this.#lengthOfType(type, first));
    const addresses = this.#grown(lists.addresses, lists.addressSizes(), (address) => this.#lengthOf(address, first));
    yield* this.#idChunks(stored);
    yield* chunksOf(this.#dataBlocks());
    // A list that becomes long needs sorted copies: one copy for each sort order except the order of the chain. For
    // each such list, the next chunks therefore write the entries of the stored transactions into the sorted copies.
    // The last chunks write the entries of the pending transactions. These entries go into the tables of all
    // transactions, into the lists themselves (which are in the order of the chain), and into the sorted copies of the
    // long lists.
    const begun = { isLongType: types.hasBegun, isLongAddress: addresses.hasBegun };
    for (const members of this.#membersOf(types.begun, addresses.begun, first)) {
      yield* chunksOf(new PostingLists(members).inOrders(begun));
    }
    yield* chunksOf(lists.amongAll());
    yield* chunksOf(lists.inLists());
    yield* chunksOf(lists.inOrders({ isLongType: types.isLong, isLongAddress: addresses.isLong }));
    for (const [type, length] of types.lengths) this.#typeLengths.set(type, length);
    for (const [address, length] of addresses.lengths) this.#lengths.set(address, length);
    this.#pending.clear();
    this.#data = [];
  }

  /**
   * Removes a transaction of the highest block from the indexes. Before this call, the pending index batch (the
   * transactions whose index entries are not written yet) must be empty.
   */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    assert(this.#pending.size === 0, 'the pending index batch is written before an entry is removed');
    keys.remove(TABLES.transactionIds.key(transaction.id));
    const { type, senderId } = transaction;
    const recipientId = recipientOf(transaction);
    const typeLength = this.#lengthOfType(type) - 1;
    const parties = [...new Set([senderId, recipientId ?? senderId])].map((address) => {
      const lists = [
        ...(address === senderId ? [TABLES.transactionsBySender.prefix(address)] : []),
        ...(address === recipientId ? [TABLES.transactionsByRecipient.prefix(address)] : []),
      ];
      return { address, lists, length: this.#lengthOf(address) - lists.length };
    });
    const data = transactionDataEntry(transaction, place);
    if (data !== undefined) keys.remove(data, true);
    for (const entry of transactionEntries(transaction, place)) keys.remove(entry, true);
    this.#typeLengths.set(type, typeLength);
    keys.remove(listPlaceKey(TABLES.transactionsByType.prefix(type), place), true);
    if (typeLength > this.#shortMax) this.#takeSorted(keys, TABLES.transactionsByType.prefix(type), transaction, place);
    else if (typeLength === this.#shortMax) endSorted(keys, TABLES.transactionsByType.prefix(type));
    for (const { address, lists, length } of parties) {
      this.#lengths.set(address, length);
      for (const list of lists) keys.remove(listPlaceKey(list, place), true);
      if (length > this.#shortMax) {
        const sorted = lists.length === 2 ? [...lists, selfListKey(address)] : lists;
        for (const list of sorted) this.#takeSorted(keys, list, transaction, place);
      } else if (length + lists.length > this.#shortMax) {
        endSorted(keys, TABLES.transactionsBySender.prefix(address));
        endSorted(keys, TABLES.transactionsByRecipient.prefix(address));
        endSorted(keys, selfListKey(address));
      }
    }
  }

  #takeSorted(keys: KeyValueWriter, list: Buffer, transaction: Transaction, place: TransactionPlace): void {
    for (const sort of sortsOf(list)) {
      keys.remove(longListEntry(list, sort, transaction, place), true);
    }
  }

  *#idChunks(stored: number): Iterable<IndexChunk> {
    // `rowsById` roughly sorts the rows by id, so that the ids of one disk page are written close together.
    const rows = this.#pending.rowsById();
    const pagesPerId = Math.min(1, stored / IDS_PER_PAGE / rows.length);
    for (let at = 0; at < rows.length; at += IDS_PER_CHUNK) {
      const chunk = rows.subarray(at, at + IDS_PER_CHUNK);
      yield (keys) => {
        for (const row of chunk) keys.put(this.#pending.idKey(row), placeBytes(this.#pending.place(row)));
        return Math.ceil(chunk.length * pagesPerId);
      };
    }
  }

  *#dataBlocks(): Iterable<KeyBlock> {
    this.#data.sort(compareKeys);
    for (let at = 0; at < this.#data.length; at += DATA_PER_CHUNK) {
      yield KeyBlock.from(this.#data.slice(at, at + DATA_PER_CHUNK));
    }
  }

  /** @param sizes number of new entries for each list */
  #grown<T>(lists: readonly T[], sizes: Uint32Array, lengthBefore: (list: T) => number): Grown<T> {
    const lengths = new Map<T, number>();
    const [begun, long] = [new Set<T>(), new Set<T>()];
    for (const [position, list] of lists.entries()) {
      const before = lengthBefore(list);
      const after = before + (sizes[position] ?? 0);
      lengths.set(list, after);
      if (after <= this.#shortMax) continue;
      long.add(list);
      if (before > 0 && before <= this.#shortMax) begun.add(list);
    }
    return { lengths, begun: [...begun], hasBegun: (list) => begun.has(list), isLong: (list) => long.has(list) };
  }

  /**
   * Reads the stored transactions of the lists that become long (see `SHORT_LIST_ITEMS_MAX`), about `MEMBERS_AT_ONCE`
   * transactions at a time.
   *
   * @param end a place above the places of all these transactions
   */
  *#membersOf(
    types: readonly number[],
    addresses: readonly Address[],
    end: TransactionPlace,
  ): Iterable<PendingIndexBatch> {
    const lists = [
      ...types.map((type) => [TABLES.transactionsByType.prefix(type)]),
      ...addresses.map((address) => [
        TABLES.transactionsBySender.prefix(address),
        TABLES.transactionsByRecipient.prefix(address),
      ]),
    ];
    let places: TransactionPlace[] = [];
    for (const [index, prefixes] of lists.entries()) {
      for (const prefix of prefixes) {
        for (const key of this.#keys.keys(listBelow(prefix, end))) places.push(placeAtEnd(key));
      }
      if (places.length < MEMBERS_AT_ONCE && index + 1 < lists.length) continue;
      yield this.#batchOf(places);
      places = [];
    }
  }

  #batchOf(places: TransactionPlace[]): PendingIndexBatch {
    places.sort((a, b) => a.height - b.height || a.index - b.index);
    const batch = new PendingIndexBatch();
    let value: { readonly height: number; readonly from: number; readonly parts: readonly Buffer[] } | undefined;
    for (const [at, place] of places.entries()) {
      const before = places[at - 1];
      if (before?.height === place.height && before.index === place.index) continue;
      const from = place.index - (place.index % TRANSACTIONS_PER_VALUE);
      if (value?.height !== place.height || value.from !== from) {
        const packed = this.#keys.get(TABLES.transactions.key({ height: place.height, index: from }));
        assert(packed !== undefined, 'a list names transactions that are stored');
        value = { height: place.height, from, parts: unpackParts(packed) };
      }
      const bytes = value.parts[place.index - from];
      assert(bytes !== undefined, 'a list names transactions that are stored');
      // The lists do not contain the ids of transactions. With `NO_ID`, the codec need not hash the transaction to
      // compute its id.
      batch.add(this.#codec.decodeTransaction(bytes, NO_ID), place);
    }
    return batch;
  }

  /**
   * @param end if the length is not cached, the method counts only the entries below this place; by default, the method
   *   counts all entries
   */
  #lengthOf(address: Address, end?: TransactionPlace): number {
    return (
      this.#lengths.get(address) ??
      lengthBelow(this.#keys, TABLES.transactionsBySender.prefix(address), end) +
        lengthBelow(this.#keys, TABLES.transactionsByRecipient.prefix(address), end)
    );
  }

  #lengthOfType(type: number, end?: TransactionPlace): number {
    return this.#typeLengths.get(type) ?? lengthBelow(this.#keys, TABLES.transactionsByType.prefix(type), end);
  }
}

/**
 * Lists that get new entries from the pending index batch (the transactions whose index entries are not written yet).
 * `T` is a type or an address. An address stands for both of its lists (sent and received).
 */
interface Grown<T> {
  /** Length of each list, including its new entries. */
  readonly lengths: ReadonlyMap<T, number>;
  /**
   * Lists that become long with the new entries. A list is long if it has more than `shortMax` entries. Before the new
   * entries, each of these lists had at least one entry, and at most `shortMax` entries.
   */
  readonly begun: readonly T[];
  readonly hasBegun: (list: T) => boolean;
  readonly isLong: (list: T) => boolean;
}

const NO_ID = '0';

function* chunksOf(blocks: Iterable<KeyBlock>): Iterable<IndexChunk> {
  for (const block of blocks) yield (keys) => keys.putSorted(block) * PAGES_PER_LEAF;
}

function listBelow(list: Buffer, end: TransactionPlace): { readonly gte: Uint8Array; readonly lt: Uint8Array } {
  return { gte: list, lt: listPlaceKey(list, end) };
}

function lengthBelow(keys: KeyValueReader, list: Buffer, end: TransactionPlace | undefined): number {
  return end === undefined ? listLength(keys, list) : keys.count(listBelow(list, end));
}

/** Number of entries in a list of transactions. */
export function listLength(keys: KeyValueReader, list: Buffer): number {
  return keys.count(prefixRange(list));
}

/**
 * Returns the sort orders in which the store keeps a long list of an address or of a type. The result does not include
 * the order of the chain.
 */
function sortsOf(list: Uint8Array): readonly TransactionSort[] {
  return list[0] === TABLES.transactionsByType.number ? TYPE_ORDERS : ADDRESS_ORDERS;
}

/**
 * Removes the sorted copies of a list that has become short (see `SHORT_LIST_ITEMS_MAX`). The entries of the list in
 * the order of the chain stay.
 */
function endSorted(keys: KeyValueWriter, list: Buffer): void {
  const range = prefixRange(Buffer.concat([TABLES.longLists.start, list]));
  for (const key of Array.from(keys.keys(range))) keys.remove(key, true);
}
