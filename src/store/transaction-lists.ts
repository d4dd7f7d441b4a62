/**
 * The indexes of transactions: all by amount, fee and timestamp, and the lists of each type and address in the order of the
 * chain. Entries of what comes are gathered and written at the end of a transaction of the store (`flush`), sorted, each list
 * as one: a key alone costs several times as much. What goes, goes at once.
 *
 * Lists that have grown long are kept sorted in each order that readers ask for. Short ones are not: sorting some hundred
 * transactions when asked costs less than four more entries for each that comes. An address counts with all that it sent and
 * received, so that both of its lists are long or neither is.
 */

import { LruMap } from '../primitives/bounded.ts';
import { assert } from '../primitives/errors.ts';
import type { TransactionPlace } from '../ports/store.ts';
import { unpackParts } from '../protocol/block/packed-block.ts';
import type { Codec } from '../protocol/rules.ts';
import type { Address, Transaction } from '../protocol/types.ts';
import type { CountedWriter } from './counted.ts';
import { recipientOf, sortValueBytes, transactionDataEntry, transactionEntries } from './indexes.ts';
import { compareKeys, type KeyRun } from './key-run.ts';
import { prefixRange, type KeyValueReader, type KeyValueWriter } from './key-value.ts';
import {
  addressListKey,
  listPlaceKey,
  longListEntry,
  longListKey,
  placeKey,
  SELF_LIST,
  selfListKey,
  tablePrefix,
  TABLES,
  typeListKey,
  type ListSort,
} from './layout.ts';
import { listEntryOf, ListEntryWriter, type ListEntry } from './list-entries.ts';
import { EMPTY, placeAtEnd, placeBytes } from './ordered-bytes.ts';

/** A list with more items is long. */
export const SHORT_LIST_ITEMS_MAX = 256;
/**
 * Transactions of a block that are one value. All of a usual block are: it is written and read as a whole. A genesis block may
 * hold tens of thousands, and reading one of them should not take all from the disk.
 */
export const TRANSACTIONS_PER_VALUE = 256;

/** Addresses that were lately used, whose number of transactions is known in memory: some hundred bytes each. */
const ADDRESSES_CACHED_MAX = 65_536;
/** Likewise of types: more than any generation has. */
const TYPES_CACHED_MAX = 64;
/** Items of lists that become long, read at once: some megabytes. */
const MEMBERS_AT_ONCE = 20_000;

/** Tables of all transactions in an order. */
const TABLE_OF_SORT = {
  amount: 'transactionsByAmount',
  fee: 'transactionsByFee',
  timestamp: 'transactionsByTimestamp',
} as const;
const TYPE_SORTS = ['amount', 'fee', 'timestamp'] as const satisfies readonly ListSort[];
/** In the order of their numbers. */
const ADDRESS_SORTS: readonly ListSort[] = ['amount', 'fee', 'timestamp', 'type'];

/** What an address sent and received, in the order of the chain. */
interface Added {
  readonly sent: ListEntry[];
  readonly received: ListEntry[];
}

/** A list, or entries of it that are to be written. */
interface ListPart {
  readonly prefix: Buffer;
  readonly entries: readonly ListEntry[];
}

export class TransactionLists {
  readonly #keys: KeyValueReader;
  readonly #codec: Codec;
  readonly #shortMax: number;
  /** What an address sent and received; what it sent to itself counts twice. */
  readonly #lengths = new LruMap<Address, number>(ADDRESSES_CACHED_MAX);
  readonly #typeLengths = new LruMap<number, number>(TYPES_CACHED_MAX);
  /** Not written yet: all, and the same by types and addresses. */
  #added: ListEntry[] = [];
  readonly #addedOfTypes = new Map<number, ListEntry[]>();
  readonly #addedOfAddresses = new Map<Address, Added>();
  readonly #writer = new ListEntryWriter();

  /** @param shortMax items of a list that is not kept sorted */
  constructor(keys: KeyValueReader, codec: Codec, shortMax: number) {
    this.#keys = keys;
    this.#codec = codec;
    this.#shortMax = shortMax;
  }

  /** Drops what is in memory after a failed transaction. */
  forget(): void {
    this.#lengths.clear();
    this.#typeLengths.clear();
    this.#forgetAdded();
  }

  /** A transaction joins its lists. It is in the tables already, or is before the next `flush`. */
  add(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    const data = transactionDataEntry(transaction, place);
    if (data !== undefined) keys.put(data, EMPTY, true);
    const entry = listEntryOf(transaction, place);
    this.#added.push(entry);
    const ofType = this.#addedOfTypes.get(transaction.type);
    if (ofType === undefined) this.#addedOfTypes.set(transaction.type, [entry]);
    else ofType.push(entry);
    this.#addedOf(transaction.senderId).sent.push(entry);
    const recipientId = recipientOf(transaction);
    if (recipientId !== undefined) this.#addedOf(recipientId).received.push(entry);
  }

  /** Writes what has joined. */
  flush(keys: CountedWriter): void {
    if (this.#added.length === 0) return;
    const put = (run: KeyRun): void => keys.putSorted(run);
    const types = Array.from(this.#addedOfTypes, ([type, entries]) => ({ type, prefix: typeListKey(type), entries }));
    const senders = Array.from(this.#addedOfAddresses, ([address, { sent, received }]) => ({
      address,
      prefix: addressListKey('transactionsBySender', address),
      entries: sent,
      received,
    }));
    types.sort(byPrefix);
    senders.sort(byPrefix);
    const recipients = senders.map(({ address, received }) => ({
      prefix: addressListKey('transactionsByRecipient', address),
      entries: received,
    }));
    // In the order of their prefixes: what joined lists that were long, and lists that have just become so.
    const long: ListPart[][] = [[], [], []];
    const begun: ListPart[][] = [[], [], []];
    for (const part of types) {
      const before = this.#lengthOfType(part.type);
      const after = before + part.entries.length;
      this.#typeLengths.set(part.type, after);
      if (after > this.#shortMax) (before > this.#shortMax ? long : begun)[0]?.push(part);
    }
    for (const [index, sender] of senders.entries()) {
      const recipient = recipients[index];
      const before = this.#lengthOf(sender.address);
      const after = before + sender.entries.length + sender.received.length;
      this.#lengths.set(sender.address, after);
      if (after <= this.#shortMax || recipient === undefined) continue;
      const lists = before > this.#shortMax ? long : begun;
      lists[1]?.push(sender);
      lists[2]?.push(recipient);
    }
    for (const parts of inPieces(begun.flat(), this.#shortMax)) this.#writeSorted(this.#whole(parts), put);
    for (const sort of TYPE_SORTS) {
      this.#writer.list(tablePrefix(TABLE_OF_SORT[sort]), this.#added, sort, put);
      this.#writer.end(put);
    }
    for (const parts of [types, senders, recipients]) {
      for (const { prefix, entries } of parts) this.#writer.list(prefix, entries, undefined, put);
      this.#writer.end(put);
    }
    this.#writeSorted(long.flat(), put);
    this.#forgetAdded();
  }

  /** The highest transaction of the chain leaves its lists. Nothing has joined since the last `flush`. */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    assert(this.#added.length === 0, 'nothing leaves before all that joined is written');
    const { type, senderId } = transaction;
    const recipientId = recipientOf(transaction);
    const typeLength = this.#lengthOfType(type) - 1;
    const parties = [...new Set([senderId, recipientId ?? senderId])].map((address) => {
      const lists = [
        ...(address === senderId ? [addressListKey('transactionsBySender', address)] : []),
        ...(address === recipientId ? [addressListKey('transactionsByRecipient', address)] : []),
      ];
      return { address, lists, length: this.#lengthOf(address) - lists.length };
    });
    const data = transactionDataEntry(transaction, place);
    if (data !== undefined) keys.remove(data, true);
    for (const entry of transactionEntries(transaction, place)) keys.remove(entry, true);
    this.#typeLengths.set(type, typeLength);
    keys.remove(listPlaceKey(typeListKey(type), place), true);
    if (typeLength > this.#shortMax) this.#takeSorted(keys, typeListKey(type), transaction, place);
    else if (typeLength === this.#shortMax) endSorted(keys, typeListKey(type));
    for (const { address, lists, length } of parties) {
      this.#lengths.set(address, length);
      for (const list of lists) keys.remove(listPlaceKey(list, place), true);
      if (length > this.#shortMax) {
        const sorted = lists.length === 2 ? [...lists, selfListKey(address)] : lists;
        for (const list of sorted) this.#takeSorted(keys, list, transaction, place);
      } else if (length + lists.length > this.#shortMax) {
        endSorted(keys, addressListKey('transactionsBySender', address));
        endSorted(keys, addressListKey('transactionsByRecipient', address));
        endSorted(keys, selfListKey(address));
      }
    }
  }

  #takeSorted(keys: KeyValueWriter, list: Buffer, transaction: Transaction, place: TransactionPlace): void {
    for (const sort of sortsOf(list)) {
      keys.remove(longListEntry(list, sort, sortValueBytes(transaction, sort), placeBytes(place)), true);
    }
  }

  /** Lists with all that stands in them. */
  #whole(lists: readonly ListPart[]): readonly ListPart[] {
    const wholes = lists.map(({ prefix }) => ({ prefix, entries: [] as ListEntry[] }));
    const members = wholes.flatMap(({ prefix, entries }) =>
      Array.from(this.#keys.keys(prefixRange(prefix)), (key) => ({ place: placeAtEnd(key), entries })),
    );
    members.sort((a, b) => a.place.height - b.place.height || a.place.index - b.place.index);
    let value: { readonly height: number; readonly from: number; readonly parts: readonly Buffer[] } | undefined;
    let entry: ListEntry | undefined;
    for (const { place, entries } of members) {
      const from = place.index - (place.index % TRANSACTIONS_PER_VALUE);
      if (value?.height !== place.height || value.from !== from) {
        const packed = this.#keys.get(placeKey({ height: place.height, index: from }));
        assert(packed !== undefined, 'a list names transactions that are stored');
        value = { height: place.height, from, parts: unpackParts(packed) };
      }
      if (entry?.place.height !== place.height || entry.place.index !== place.index) {
        const bytes = value.parts[place.index - from];
        assert(bytes !== undefined, 'a list names transactions that are stored');
        // No index is asked for the id, which would cost a hash.
        entry = listEntryOf(this.#codec.decodeTransaction(bytes, NO_ID), place);
      }
      entries.push(entry);
    }
    for (const [index, { entries }] of lists.entries()) wholes[index]?.entries.push(...entries);
    return wholes;
  }

  /** @param lists in the order of their prefixes */
  #writeSorted(lists: readonly ListPart[], put: (keys: KeyRun) => void): void {
    for (const { prefix, entries } of lists) {
      for (const sort of sortsOf(prefix)) this.#writer.list(longListKey(prefix, sort), entries, sort, put);
    }
    for (const { prefix, entries } of lists) {
      if (prefix[0] !== TABLES.transactionsBySender.number) continue;
      const toSelf = entries.filter(({ isToSelf }) => isToSelf);
      if (toSelf.length === 0) continue;
      const own = Buffer.from(prefix);
      own[0] = SELF_LIST;
      for (const sort of ADDRESS_SORTS) this.#writer.list(longListKey(own, sort), toSelf, sort, put);
    }
    this.#writer.end(put);
  }

  #forgetAdded(): void {
    this.#added = [];
    this.#addedOfTypes.clear();
    this.#addedOfAddresses.clear();
  }

  #addedOf(address: Address): Added {
    let added = this.#addedOfAddresses.get(address);
    if (added === undefined) this.#addedOfAddresses.set(address, (added = { sent: [], received: [] }));
    return added;
  }

  #lengthOf(address: Address): number {
    return (
      this.#lengths.get(address) ??
      listLength(this.#keys, addressListKey('transactionsBySender', address)) +
        listLength(this.#keys, addressListKey('transactionsByRecipient', address))
    );
  }

  #lengthOfType(type: number): number {
    return this.#typeLengths.get(type) ?? listLength(this.#keys, typeListKey(type));
  }
}

const NO_ID = '0';

/** Number of items of a list of transactions. */
export function listLength(keys: KeyValueReader, list: Buffer): number {
  return keys.count(prefixRange(list));
}

/** Orders in which an address's long lists, or a type's, are kept. */
function sortsOf(list: Uint8Array): readonly ListSort[] {
  return list[0] === TABLES.transactionsByType.number ? TYPE_SORTS : ADDRESS_SORTS;
}

/** Removes all orders of a list that is no longer long. */
function endSorted(keys: KeyValueWriter, list: Buffer): void {
  const range = prefixRange(Buffer.concat([tablePrefix('longLists'), list]));
  for (const key of Array.from(keys.keys(range))) keys.remove(key, true);
}

function byPrefix(a: { readonly prefix: Buffer }, b: { readonly prefix: Buffer }): number {
  return compareKeys(a.prefix, b.prefix);
}

/** Lists that were short, in groups that are read at once. */
function* inPieces(lists: readonly ListPart[], shortMax: number): Iterable<readonly ListPart[]> {
  let piece: ListPart[] = [];
  let items = 0;
  for (const list of lists) {
    piece.push(list);
    items += shortMax + list.entries.length;
    if (items < MEMBERS_AT_ONCE) continue;
    yield piece;
    [piece, items] = [[], 0];
  }
  if (piece.length > 0) yield piece;
}
