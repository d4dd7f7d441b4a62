/** Index entries of transactions, made many at a time: as keys, one behind the other in memory that is used again and again. */

import type { TransactionPlace } from '../ports/store.ts';
import type { Transaction } from '../protocol/types.ts';
import { amountOf, recipientOf } from './indexes.ts';
import { KeyRun } from './key-run.ts';
import type { ListSort } from './layout.ts';
import { PLACE_BYTES, sizeOfBigint, writeOrderedBigint, writePlace, writeTimestamp } from './ordered-bytes.ts';

/** What the indexes say of a transaction. */
export interface ListEntry {
  readonly place: TransactionPlace;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly timestamp: number;
  readonly type: number;
  readonly isToSelf: boolean;
}

export function listEntryOf(transaction: Transaction, place: TransactionPlace): ListEntry {
  return {
    place,
    amount: amountOf(transaction),
    fee: transaction.fee,
    timestamp: transaction.timestamp,
    type: transaction.type,
    isToSelf: recipientOf(transaction) === transaction.senderId,
  };
}

const ORDERS: Readonly<Record<ListSort, (a: ListEntry, b: ListEntry) => number>> = {
  amount: (a, b) => (a.amount < b.amount ? -1 : a.amount > b.amount ? 1 : 0),
  fee: (a, b) => (a.fee < b.fee ? -1 : a.fee > b.fee ? 1 : 0),
  timestamp: (a, b) => a.timestamp - b.timestamp,
  type: (a, b) => a.type - b.type,
};

/** Entries in an order, equal ones as they come. Nearly all lists are in most orders already. */
export function inOrder(entries: readonly ListEntry[], sort: ListSort): readonly ListEntry[] {
  const order = ORDERS[sort];
  for (let at = 1; at < entries.length; at += 1) {
    const [before, entry] = [entries[at - 1], entries[at]];
    if (before !== undefined && entry !== undefined && order(before, entry) > 0) return [...entries].sort(order);
  }
  return entries;
}

const BYTES_AT_FIRST = 4096;
/** Keys that are handed on together. */
const BYTES_AT_ONCE = 1 << 18;
/** More than any value and place take that can stand behind a prefix. */
const TAIL_BYTES_MAX = 160;

/** Writes keys and hands them on as runs. */
export class ListEntryWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_AT_FIRST);
  #length = 0;
  #ends: number[] = [];

  /**
   * Writes the keys of a list.
   *
   * @param prefix above all that was written since the last `end`
   * @param entries in the order of the chain
   * @param sort the value that stands before the place; none for the list itself
   * @param put takes the keys, whose memory is used again when it returns
   */
  list(
    prefix: Uint8Array,
    entries: readonly ListEntry[],
    sort: ListSort | undefined,
    put: (keys: KeyRun) => void,
  ): void {
    const sorted = sort === undefined ? entries : inOrder(entries, sort);
    for (const entry of sorted) {
      if (this.#length >= BYTES_AT_ONCE) this.end(put);
      this.#reserve(prefix.length + TAIL_BYTES_MAX);
      this.#bytes.set(prefix, this.#length);
      const at = this.#writeValue(entry, sort, this.#length + prefix.length);
      writePlace(this.#bytes, entry.place, at);
      this.#length = at + PLACE_BYTES;
      this.#ends.push(this.#length);
    }
  }

  /** Hands on what was written. What follows may lie below it. */
  end(put: (keys: KeyRun) => void): void {
    const keys = KeyRun.of(this.#bytes.subarray(0, this.#length), this.#ends);
    this.#length = 0;
    this.#ends = [];
    put(keys);
  }

  /** @returns where the value ends */
  #writeValue(entry: ListEntry, sort: ListSort | undefined, at: number): number {
    switch (sort) {
      case undefined:
        return at;
      case 'amount':
      case 'fee': {
        const value = entry[sort];
        const magnitude = value < 0n ? -value : value;
        const size = sizeOfBigint(magnitude);
        writeOrderedBigint(this.#bytes, value < 0n, magnitude, size, at);
        return at + 1 + size;
      }
      case 'timestamp':
        writeTimestamp(this.#bytes, entry.timestamp, at);
        return at + 4;
      case 'type':
        this.#bytes.writeUInt16BE(entry.type, at);
        return at + 2;
    }
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(this.#bytes.length * 2 + bytes);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
