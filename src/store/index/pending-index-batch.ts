/**
 * Keeps transactions in memory until their index entries are written. The batch stores the transactions as columns of
 * numbers. If the batch stored the transactions as objects, a hundred thousand transactions would take several times as
 * much memory, and garbage collection would copy these objects.
 */

import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, Transaction } from '../../protocol/types.ts';
import { TRANSACTION_SORTS, type TransactionSort } from '../../ports/queries.ts';
import { TABLES, TRANSACTION_ORDERS } from '../tables/layout.ts';
import type { SortInteger } from '../tables/sort-values.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { writeU32 } from '../tables/ordered-bytes.ts';

/**
 * Initial number of rows; each transaction of the batch is a row. Most blocks have fewer transactions than this number.
 * The number is a power of two, because the size of the hash table of ids must be a power of two.
 */
const ROWS_AT_FIRST = 128;
/** Offsets of the two halves of a transaction id in its key in the table `transactionIds`. */
const [HIGH_AT, LOW_AT] = [1, 5];
const ID_KEY_BYTES = 9;
/** The number that stands for a missing row, a missing address or a missing list. */
export const NONE = 0xffff_ffff;

/** For each sort order, the function that reads the sort value of a transaction. */
const ORDERS = TRANSACTION_SORTS.map((sort) => ({ sort, of: TRANSACTION_ORDERS[sort].of }));

export class PendingIndexBatch {
  readonly #addresses: Address[] = [];
  readonly #numberOfAddress = new Map<Address, number>();
  /**
   * For each sort order, a map of the sort values that are bigints below 0 or above 2^53 - 1. The map contains, for the
   * row of each such value, the exact value as a bigint. The column of the sort order contains the nearest double
   * instead. If the doubles of two rows differ, the exact values are in the same order as the doubles.
   */
  readonly #large = ofEachOrder(() => new Map<number, bigint>());
  #columns = columnsOf(ROWS_AT_FIRST);
  /**
   * Hash table of rows by id. The low bits of the id give the position of the row. If another row already has this
   * position, the new row gets the next free position.
   */
  #slots = slotsFor(ROWS_AT_FIRST);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /**
   * Addresses of all senders and recipients in the batch, each address once. The methods `sender` and `recipient`
   * return indexes into this list.
   */
  get addresses(): readonly Address[] {
    return this.#addresses;
  }

  /** @param key key of a transaction id in the table `transactionIds` */
  placeOfId(key: Buffer): TransactionPlace | undefined {
    const row = this.#slots[this.#slotOf(highOf(key), lowOf(key))] ?? NONE;
    return row === NONE ? undefined : this.place(row);
  }

  /** Key of a row's transaction id in the table `transactionIds`. */
  idKey(row: number): Buffer {
    const key = Buffer.allocUnsafe(ID_KEY_BYTES);
    key[0] = TABLES.transactionIds.number;
    writeU32(key, this.#columns.idHigh[row] ?? 0, HIGH_AT);
    writeU32(key, this.#columns.idLow[row] ?? 0, LOW_AT);
    return key;
  }

  /** Adds a transaction. @returns the key of the transaction's id in the table `transactionIds` */
  add(transaction: Transaction, place: TransactionPlace): Buffer {
    const row = this.#size;
    if (row === this.#columns.height.length) this.#grow();
    const { idHigh, idLow, height, index, type, sender, recipient, values } = this.#columns;
    const key = TABLES.transactionIds.key(transaction.id);
    idHigh[row] = highOf(key);
    idLow[row] = lowOf(key);
    this.#enter(row);
    height[row] = place.height;
    index[row] = place.index;
    for (const { sort, of } of ORDERS) {
      const value = of(transaction);
      const number = Number(value);
      values[sort][row] = number;
      if (typeof value === 'bigint' && !isExact(number)) this.#large[sort].set(row, value);
    }
    type[row] = transaction.type;
    sender[row] = this.#numberOf(transaction.senderId);
    const recipientId = recipientOf(transaction);
    recipient[row] = recipientId === undefined ? NONE : this.#numberOf(recipientId);
    this.#size = row + 1;
    return key;
  }

  clear(): void {
    this.#size = 0;
    this.#addresses.length = 0;
    this.#numberOfAddress.clear();
    for (const { sort } of ORDERS) this.#large[sort].clear();
    if (this.#columns.height.length > ROWS_AT_FIRST) this.#columns = columnsOf(ROWS_AT_FIRST);
    this.#slots = slotsFor(ROWS_AT_FIRST);
  }

  place(row: number): TransactionPlace {
    return { height: this.height(row), index: this.index(row) };
  }

  height(row: number): number {
    return this.#columns.height[row] ?? 0;
  }

  index(row: number): number {
    return this.#columns.index[row] ?? 0;
  }

  /** The exact sort value of a row in a sort order. */
  value(sort: TransactionSort, row: number): SortInteger {
    const number = this.#columns.values[sort][row] ?? 0;
    return isExact(number) ? number : (this.#large[sort].get(row) ?? number);
  }

  type(row: number): number {
    return this.#columns.type[row] ?? 0;
  }

  /** Returns the index of the sender's address in `addresses`. */
  sender(row: number): number {
    return this.#columns.sender[row] ?? 0;
  }

  /** Returns the index of the recipient's address in `addresses`; `NONE` if the transaction has no recipient. */
  recipient(row: number): number {
    return this.#columns.recipient[row] ?? NONE;
  }

  /**
   * Returns all rows, sorted by their values in the given sort order. Rows with equal values stay in the order in which
   * they were added.
   */
  rowsBy(sort: TransactionSort): Uint32Array {
    const rows = this.rows();
    const values = this.#columns.values[sort];
    if (!isAscending(values, this.#size)) rows.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
    const large = this.#large[sort];
    if (large.size === 0) return rows;
    const exact = (row: number): bigint => large.get(row) ?? BigInt(values[row] ?? 0);
    return rows.sort((a, b) => {
      const difference = (values[a] ?? 0) - (values[b] ?? 0);
      if (difference !== 0) return difference;
      const [left, right] = [exact(a), exact(b)];
      return left < right ? -1 : left > right ? 1 : a - b;
    });
  }

  /**
   * Returns all rows, roughly sorted by id. The method compares only the highest 21 bits of each id. These bits and the
   * 32 bits of the row number together fill the 53 bits of a double.
   */
  rowsById(): Uint32Array {
    const { idHigh } = this.#columns;
    const ranks = new Float64Array(this.#size);
    for (let row = 0; row < ranks.length; row += 1) ranks[row] = ((idHigh[row] ?? 0) >>> 11) * 2 ** 32 + row;
    // Sorting an array of plain numbers is many times faster than sorting with a compare function.
    return new Uint32Array(ranks.sort());
  }

  /** All rows in the order in which they were added. */
  rows(): Uint32Array {
    const rows = new Uint32Array(this.#size);
    for (let row = 0; row < rows.length; row += 1) rows[row] = row;
    return rows;
  }

  #grow(): void {
    const rows = this.#columns.height.length * 2;
    this.#columns = columnsOf(rows, this.#columns);
    this.#slots = slotsFor(rows);
    for (let row = 0; row < this.#size; row += 1) this.#enter(row);
  }

  /** Inserts a row into the hash table. If two rows have the same id, the hash table has the later row. */
  #enter(row: number): void {
    const { idHigh, idLow } = this.#columns;
    this.#slots[this.#slotOf(idHigh[row] ?? 0, idLow[row] ?? 0)] = row;
  }

  /**
   * Finds the row that has the given id, and returns the position of this row in the hash table. If no row has this id,
   * the result is the free position for a row with this id.
   */
  #slotOf(high: number, low: number): number {
    const { idHigh, idLow } = this.#columns;
    const last = this.#slots.length - 1;
    for (let slot = low & last; ; slot = (slot + 1) & last) {
      const row = this.#slots[slot] ?? NONE;
      if (row === NONE || (idLow[row] === low && idHigh[row] === high)) return slot;
    }
  }

  #numberOf(address: Address): number {
    let number = this.#numberOfAddress.get(address);
    if (number === undefined) {
      number = this.#addresses.push(address) - 1;
      this.#numberOfAddress.set(address, number);
    }
    return number;
  }
}

/** Rows that are sorted by group. Within a group, the rows keep the order in which `grouped` received them. */
export interface Groups {
  readonly rows: Uint32Array;
  /** The first position of each group in `rows`, followed by the length of `rows`. */
  readonly starts: Uint32Array;
}

/**
 * Sorts rows by their group with a counting sort.
 *
 * @param rows rows in any order
 * @param groupOf for each row, the number of its group, or `NONE`; the result has no rows whose group is `NONE`
 * @param groups number of groups
 */
export function grouped(rows: Uint32Array, groupOf: Uint32Array, groups: number): Groups {
  const starts = new Uint32Array(groups + 1);
  for (let at = 0; at < rows.length; at += 1) {
    const group = groupOf[rows[at] ?? 0] ?? NONE;
    if (group !== NONE) starts[group + 1] = (starts[group + 1] ?? 0) + 1;
  }
  for (let group = 0; group < groups; group += 1) starts[group + 1] = (starts[group + 1] ?? 0) + (starts[group] ?? 0);
  const next = starts.slice(0, groups);
  const sorted = new Uint32Array(starts[groups] ?? 0);
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at] ?? 0;
    const group = groupOf[row] ?? NONE;
    if (group === NONE) continue;
    const to = next[group] ?? 0;
    sorted[to] = row;
    next[group] = to + 1;
  }
  return { rows: sorted, starts };
}

interface Columns {
  /** `idHigh` and `idLow` are the two halves of each transaction id. */
  readonly idHigh: Uint32Array;
  readonly idLow: Uint32Array;
  readonly height: Uint32Array;
  readonly index: Uint16Array;
  readonly type: Uint16Array;
  readonly sender: Uint32Array;
  readonly recipient: Uint32Array;
  /** A column of values for each sort order. */
  readonly values: Readonly<Record<TransactionSort, Float64Array>>;
}

/** @param filled columns whose rows are copied to the start of the new columns */
function columnsOf(rows: number, filled?: Columns): Columns {
  const columns = {
    idHigh: new Uint32Array(rows),
    idLow: new Uint32Array(rows),
    height: new Uint32Array(rows),
    index: new Uint16Array(rows),
    type: new Uint16Array(rows),
    sender: new Uint32Array(rows),
    recipient: new Uint32Array(rows),
  };
  const values = ofEachOrder(() => new Float64Array(rows));
  if (filled !== undefined) {
    for (const name of Object.keys(columns) as (keyof typeof columns)[]) columns[name].set(filled[name]);
    for (const { sort } of ORDERS) values[sort].set(filled.values[sort]);
  }
  return { ...columns, values };
}

/** The hash table of ids has twice as many positions as the columns have rows, so that collisions are rare. */
function slotsFor(rows: number): Uint32Array {
  return new Uint32Array(rows * 2).fill(NONE);
}

function highOf(key: Buffer): number {
  return key.readUInt32BE(HIGH_AT);
}

function lowOf(key: Buffer): number {
  return key.readUInt32BE(LOW_AT);
}

function isAscending(values: ArrayLike<number>, size: number): boolean {
  for (let row = 1; row < size; row += 1) if ((values[row - 1] ?? 0) > (values[row] ?? 0)) return false;
  return true;
}

function ofEachOrder<T>(make: () => T): Readonly<Record<TransactionSort, T>> {
  return Object.fromEntries(TRANSACTION_SORTS.map((sort) => [sort, make()])) as Record<TransactionSort, T>;
}

/**
 * Returns true if a number in a column of sort values is certainly equal to the sort value of its transaction. If the
 * result is false, the number can be a rounded value. If the sort value was a bigint in this case, `#large` contains
 * the exact value.
 */
function isExact(number: number): boolean {
  return number >= 0 && number <= Number.MAX_SAFE_INTEGER;
}
