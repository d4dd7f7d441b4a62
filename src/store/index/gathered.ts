/**
 * Transactions whose index entries are still to be written. They are kept as columns: as objects a hundred thousand of them
 * take several times the memory, and are moved about in it.
 */

import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, Transaction } from '../../protocol/types.ts';
import { amountOf, recipientOf } from './indexes.ts';
import { type ListSort, TABLES } from '../tables/layout.ts';
import { writeU32 } from '../tables/ordered-bytes.ts';

/** Rows that there is room for at first: those of a few full blocks. A power of two, so that places of ids are one. */
const ROWS_AT_FIRST = 128;
/** Halves of the id in its key. */
const [HIGH_AT, LOW_AT] = [1, 5];
const ID_KEY_BYTES = 9;
/** Stands for no address and no list. */
export const NONE = 0xffff_ffff;

/** Columns that hold amounts in beddows. */
export type AmountColumn = Extract<ListSort, 'amount' | 'fee'>;

export class GatheredTransactions {
  readonly #addresses: Address[] = [];
  readonly #numberOfAddress = new Map<Address, number>();
  /** Amounts that no double holds exactly: their column has the nearest one, which sorts like them. */
  readonly #large: Readonly<Record<AmountColumn, Map<number, bigint>>> = { amount: new Map(), fee: new Map() };
  #columns = columnsOf(ROWS_AT_FIRST);
  /** Rows by their ids: each stands at the first place that was free from the one on that its id names. */
  #slots = slotsFor(ROWS_AT_FIRST);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those that senders and recipients are numbered by. */
  get addresses(): readonly Address[] {
    return this.#addresses;
  }

  /** @param key that the id has in its table */
  placeOfId(key: Buffer): TransactionPlace | undefined {
    const row = this.#slots[this.#slotOf(highOf(key), lowOf(key))] ?? NONE;
    return row === NONE ? undefined : this.place(row);
  }

  /** Key of a row's id in its table. */
  idKey(row: number): Buffer {
    const key = Buffer.allocUnsafe(ID_KEY_BYTES);
    key[0] = TABLES.transactionIds.number;
    writeU32(key, this.#columns.idHigh[row] ?? 0, HIGH_AT);
    writeU32(key, this.#columns.idLow[row] ?? 0, LOW_AT);
    return key;
  }

  /** @returns the key that its id has in its table */
  add(transaction: Transaction, place: TransactionPlace): Buffer {
    const row = this.#size;
    if (row === this.#columns.height.length) this.#grow();
    const { idHigh, idLow, height, index, timestamp, type, sender, recipient } = this.#columns;
    const key = TABLES.transactionIds.key(transaction.id);
    idHigh[row] = highOf(key);
    idLow[row] = lowOf(key);
    this.#enter(row);
    height[row] = place.height;
    index[row] = place.index;
    this.#setAmount('amount', row, amountOf(transaction));
    this.#setAmount('fee', row, transaction.fee);
    timestamp[row] = transaction.timestamp;
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
    this.#large.amount.clear();
    this.#large.fee.clear();
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

  /** Undefined where it is not a whole number from 0 on that a double holds: `largeAmount` has it then. */
  amount(column: AmountColumn, row: number): number | undefined {
    const value = this.#columns[column][row] ?? 0;
    return value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
  }

  largeAmount(column: AmountColumn, row: number): bigint {
    return this.#large[column].get(row) ?? 0n;
  }

  timestamp(row: number): number {
    return this.#columns.timestamp[row] ?? 0;
  }

  type(row: number): number {
    return this.#columns.type[row] ?? 0;
  }

  /** Number of the address. */
  sender(row: number): number {
    return this.#columns.sender[row] ?? 0;
  }

  /** Number of the address, `NONE` where there is none. */
  recipient(row: number): number {
    return this.#columns.recipient[row] ?? NONE;
  }

  /** All rows, those of equal values as they came. */
  rowsBy(sort: ListSort): Uint32Array {
    const rows = this.rows();
    const values = this.#columns[sort];
    if (!isAscending(values, this.#size)) rows.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
    if (sort !== 'amount' && sort !== 'fee') return rows;
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

  /** All rows, nearly in the order of their ids: by as many bits as a double has room for beside the row. */
  rowsById(): Uint32Array {
    const { idHigh } = this.#columns;
    const ranks = new Float64Array(this.#size);
    for (let row = 0; row < ranks.length; row += 1) ranks[row] = ((idHigh[row] ?? 0) >>> 11) * 2 ** 32 + row;
    // Numbers that come with nothing else are sorted many times as fast as by a function that compares.
    return new Uint32Array(ranks.sort());
  }

  /** All rows as they came. */
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

  /** Of two rows with one id the later one counts. */
  #enter(row: number): void {
    const { idHigh, idLow } = this.#columns;
    this.#slots[this.#slotOf(idHigh[row] ?? 0, idLow[row] ?? 0)] = row;
  }

  /** Where the row with an id stands, or would. */
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

  #setAmount(column: AmountColumn, row: number, amount: bigint): void {
    this.#columns[column][row] = Number(amount);
    if (this.amount(column, row) === undefined) this.#large[column].set(row, amount);
  }
}

/** Rows in groups, those of a group in the order that they were in. */
export interface Groups {
  readonly rows: Uint32Array;
  /** Where each group begins, and the end of the last. */
  readonly starts: Uint32Array;
}

/**
 * @param rows in any order
 * @param groupOf the group of each row, `NONE` for those that are left out
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
  /** Ids in two halves. */
  readonly idHigh: Uint32Array;
  readonly idLow: Uint32Array;
  readonly height: Uint32Array;
  readonly index: Uint16Array;
  readonly amount: Float64Array;
  readonly fee: Float64Array;
  readonly timestamp: Int32Array;
  readonly type: Uint16Array;
  readonly sender: Uint32Array;
  readonly recipient: Uint32Array;
}

/** @param filled columns whose rows they begin with */
function columnsOf(rows: number, filled?: Columns): Columns {
  const columns = {
    idHigh: new Uint32Array(rows),
    idLow: new Uint32Array(rows),
    height: new Uint32Array(rows),
    index: new Uint16Array(rows),
    amount: new Float64Array(rows),
    fee: new Float64Array(rows),
    timestamp: new Int32Array(rows),
    type: new Uint16Array(rows),
    sender: new Uint32Array(rows),
    recipient: new Uint32Array(rows),
  };
  if (filled !== undefined) {
    for (const name of Object.keys(columns) as (keyof Columns)[]) columns[name].set(filled[name]);
  }
  return columns;
}

/** Twice as many as rows: few stand behind others then. */
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
