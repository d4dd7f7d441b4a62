/**
 * Lists of transactions that have grown long (of a type, or of an address) are kept sorted on the disk in each order that
 * readers ask for. Short ones are not: sorting some hundred transactions when asked costs less than four more entries for
 * each that comes. An address counts with all that it sent and received, so that both of its lists are long or neither is.
 */

import type { TransactionPlace } from '../ports/store.ts';
import type { Address, Transaction } from '../protocol/types.ts';
import { recipientOf, sortValueBytes } from './indexes.ts';
import { prefixRange, type KeyValueWriter } from './key-value.ts';
import { addressListKey, longListEntry, selfListKey, TABLES, typeListKey, type ListSort } from './layout.ts';
import { EMPTY, placeAtEnd, placeBytes } from './ordered-bytes.ts';

/** A list with more items is long. */
export const SHORT_LIST_ITEMS_MAX = 256;

const TYPE_SORTS: readonly ListSort[] = ['amount', 'fee', 'timestamp'];
const ADDRESS_SORTS: readonly ListSort[] = ['amount', 'fee', 'timestamp', 'type'];

/** What the lists themselves say, as of now. */
export interface ListSource {
  typeLength(type: number): number;
  /** What an address sent and received; what it sent to itself counts twice. */
  addressLength(address: Address): number;
  transaction(place: TransactionPlace): Transaction;
}

/** Orders in which an address's long lists, or a type's, are kept. */
export function sortsOf(list: Uint8Array): readonly ListSort[] {
  return list[0] === TABLES.transactionsByType.number ? TYPE_SORTS : ADDRESS_SORTS;
}

export class LongLists {
  readonly #source: ListSource;
  readonly #shortMax: number;

  constructor(source: ListSource, shortMax: number) {
    this.#source = source;
    this.#shortMax = shortMax;
  }

  /** A transaction has joined its lists. */
  add(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    const ofType = this.#source.typeLength(transaction.type);
    if (ofType > this.#shortMax + 1) this.#put(keys, typeListKey(transaction.type), transaction, place);
    else if (ofType > this.#shortMax) this.#begin(keys, [typeListKey(transaction.type)]);
    for (const { address, times } of partiesOf(transaction)) {
      const length = this.#source.addressLength(address);
      if (length > this.#shortMax + times) {
        for (const list of listsWith(transaction, address)) this.#put(keys, list, transaction, place);
      } else if (length > this.#shortMax) {
        this.#begin(keys, [
          addressListKey('transactionsBySender', address),
          addressListKey('transactionsByRecipient', address),
        ]);
      }
    }
  }

  /** A transaction has left its lists. */
  remove(keys: KeyValueWriter, transaction: Transaction, place: TransactionPlace): void {
    const ofType = this.#source.typeLength(transaction.type);
    if (ofType > this.#shortMax) this.#take(keys, typeListKey(transaction.type), transaction, place);
    else if (ofType === this.#shortMax) end(keys, typeListKey(transaction.type));
    for (const { address, times } of partiesOf(transaction)) {
      const length = this.#source.addressLength(address);
      if (length > this.#shortMax) {
        for (const list of listsWith(transaction, address)) this.#take(keys, list, transaction, place);
      } else if (length > this.#shortMax - times) {
        end(keys, addressListKey('transactionsBySender', address));
        end(keys, addressListKey('transactionsByRecipient', address));
        end(keys, selfListKey(address));
      }
    }
  }

  /** Sorts lists that have just become long, with all they hold: one order after the other, as neighbours are written fastest. */
  #begin(keys: KeyValueWriter, lists: readonly Buffer[]): void {
    for (const list of lists) {
      const members = Array.from(keys.keys(prefixRange(list)), (key) => {
        const place = placeAtEnd(key);
        return { place, transaction: this.#source.transaction(place) };
      });
      for (const sort of sortsOf(list)) {
        for (const { place, transaction } of members) keys.put(keyOf(list, sort, transaction, place), EMPTY, true);
      }
      if (list[0] !== TABLES.transactionsBySender.number) continue;
      for (const { place, transaction } of members) {
        const isToSelf = recipientOf(transaction) === transaction.senderId;
        if (isToSelf) this.#put(keys, selfListKey(transaction.senderId), transaction, place);
      }
    }
  }

  #put(keys: KeyValueWriter, list: Buffer, transaction: Transaction, place: TransactionPlace): void {
    for (const key of keysOf(list, transaction, place)) keys.put(key, EMPTY, true);
  }

  #take(keys: KeyValueWriter, list: Buffer, transaction: Transaction, place: TransactionPlace): void {
    for (const key of keysOf(list, transaction, place)) keys.remove(key, true);
  }
}

function keysOf(list: Buffer, transaction: Transaction, place: TransactionPlace): readonly Buffer[] {
  return sortsOf(list).map((sort) => keyOf(list, sort, transaction, place));
}

function keyOf(list: Buffer, sort: ListSort, transaction: Transaction, place: TransactionPlace): Buffer {
  return longListEntry(list, sort, sortValueBytes(transaction, sort), placeBytes(place));
}

function end(keys: KeyValueWriter, list: Buffer): void {
  const range = prefixRange(Buffer.concat([Buffer.from([TABLES.longLists.number]), list]));
  for (const key of Array.from(keys.keys(range))) keys.remove(key, true);
}

/** Each address once, with the number of its lists that the transaction stands in. */
function partiesOf(transaction: Transaction): readonly { readonly address: Address; readonly times: 1 | 2 }[] {
  const recipientId = recipientOf(transaction);
  if (recipientId === transaction.senderId) return [{ address: recipientId, times: 2 }];
  const sender = { address: transaction.senderId, times: 1 } as const;
  return recipientId === undefined ? [sender] : [sender, { address: recipientId, times: 1 }];
}

/** The lists of one of its parties that a transaction stands in. */
function listsWith(transaction: Transaction, address: Address): readonly Buffer[] {
  const isSender = transaction.senderId === address;
  const isRecipient = recipientOf(transaction) === address;
  return [
    ...(isSender ? [addressListKey('transactionsBySender', address)] : []),
    ...(isRecipient ? [addressListKey('transactionsByRecipient', address)] : []),
    ...(isSender && isRecipient ? [selfListKey(address)] : []),
  ];
}
