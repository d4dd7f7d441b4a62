/**
 * Sorts the transactions of a pending index batch (transactions whose index entries are not written yet) into posting
 * lists. A posting list is the list of the transactions of one type, of one sender, or of one recipient. The module
 * returns the sorted keys of the new entries in these lists and in the tables that list all transactions.
 */

import { assert } from '../../primitives/errors.ts';
import type { Address } from '../../protocol/types.ts';
import { grouped, NONE, type PendingIndexBatch, type Groups } from './pending-index-batch.ts';
import { compareKeys, type KeyBlock } from './key-block.ts';
import type { TransactionSort } from '../../ports/queries.ts';
import { ADDRESS_ORDERS, SELF_LIST, TABLES, TRANSACTION_ORDERS, TYPE_ORDERS } from '../tables/layout.ts';
import { ListEntryWriter } from './list-entries.ts';

/**
 * Finds out which lists are long (see transaction-lists.ts). `isLongType` returns true if the list of a transaction
 * type is long. `isLongAddress` returns true if the two lists of an address are long.
 */
export interface LongLists {
  readonly isLongType: (type: number) => boolean;
  readonly isLongAddress: (address: Address) => boolean;
}

/**
 * All posting lists of one kind. Depending on the kind, a list contains the transactions of one type, of one sender, of
 * one recipient, or from one address to itself.
 */
interface Lists {
  /** Prefixes of the keys of the lists, ascending. */
  readonly prefixes: readonly Buffer[];
  /** For each row of the batch, the position of its list in `prefixes`; `NONE` if the row is in no list. */
  readonly ofRow: Uint32Array;
  readonly isLong: (list: number) => boolean;
  readonly sorts: readonly TransactionSort[];
}

export class PostingLists {
  readonly types: readonly number[];
  /** Addresses of all senders and recipients in the batch, in the order of the prefixes of their lists. */
  readonly addresses: readonly Address[];
  readonly #pending: PendingIndexBatch;
  readonly #typeOfRow: Uint32Array;
  readonly #senderOfRow: Uint32Array;
  readonly #recipientOfRow: Uint32Array;
  readonly #prefixes: readonly Buffer[];
  readonly #rowsBy = new Map<TransactionSort, Uint32Array>();

  constructor(batch: PendingIndexBatch) {
    this.#pending = batch;
    const rows = batch.rows();
    this.types = [...new Set(Array.from(rows, (row) => batch.type(row)))].sort((a, b) => a - b);
    const positionOfType = new Map(this.types.map((type, position) => [type, position]));
    this.#typeOfRow = rows.map((row) => positionOfType.get(batch.type(row)) ?? NONE);
    const named = batch.addresses.map((address, number) => ({
      address,
      number,
      prefix: TABLES.transactionsBySender.prefix(address),
    }));
    named.sort((a, b) => compareKeys(a.prefix, b.prefix));
    this.addresses = named.map(({ address }) => address);
    this.#prefixes = named.map(({ prefix }) => prefix);
    const positionOfNumber = new Uint32Array(named.length);
    for (const [position, { number }] of named.entries()) positionOfNumber[number] = position;
    this.#senderOfRow = rows.map((row) => positionOfNumber[batch.sender(row)] ?? NONE);
    this.#recipientOfRow = rows.map((row) => positionOfNumber[batch.recipient(row)] ?? NONE);
  }

  /** Returns the number of transactions in the batch for each type in `types`. */
  typeSizes(): Uint32Array {
    return sizes([this.#typeOfRow], this.types.length);
  }

  /**
   * Returns, for each address in `addresses`, the number of transactions in the batch that the address sent or
   * received. A transaction from an address to itself counts twice.
   */
  addressSizes(): Uint32Array {
    return sizes([this.#senderOfRow, this.#recipientOfRow], this.addresses.length);
  }

  /**
   * Yields the keys for the tables that list all transactions by amount, by fee and by timestamp. The caller must use
   * each `KeyBlock` before the caller asks for the next `KeyBlock`, because the next `KeyBlock` overwrites the memory
   * of the keys. The same rule applies to the generators `inLists` and `inOrders`.
   */
  *amongAll(): Iterable<KeyBlock> {
    const writer = new ListEntryWriter();
    for (const sort of TYPE_ORDERS) {
      const rows = this.#inOrder(sort);
      const prefix = startOf(sort);
      for (let at = 0; at < rows.length;) {
        at = writer.write(this.#pending, prefix, sort, rows, at, rows.length);
        yield writer.take();
      }
    }
  }

  /**
   * Yields the keys for the lists by type, by sender and by recipient. These lists keep the transactions in the order
   * of the chain.
   */
  *inLists(): Iterable<KeyBlock> {
    const writer = new ListEntryWriter();
    const rows = this.#pending.rows();
    const never = { isLongType: () => false, isLongAddress: () => false };
    for (const { prefixes, ofRow } of [this.#ofTypes(never), this.#ofSenders(never), this.#ofRecipients(never)]) {
      const groups = grouped(rows, ofRow, prefixes.length);
      for (const [list, prefix] of prefixes.entries()) {
        const { from, to } = boundsOf(groups, list);
        for (let at = from; (at = writer.write(this.#pending, prefix, undefined, groups.rows, at, to)) < to;) {
          yield writer.take();
        }
      }
      if (!writer.isEmpty) yield writer.take();
    }
  }

  /**
   * Yields the keys of the long lists (see `LongLists`). Each long list has keys for each of its sort orders, but not
   * for the order of the chain.
   */
  *inOrders(long: LongLists): Iterable<KeyBlock> {
    const writer = new ListEntryWriter();
    for (const lists of [this.#ofTypes(long), this.#ofSenders(long), this.#ofRecipients(long), this.#ofSelves(long)]) {
      const { prefixes, ofRow, isLong, sorts } = lists;
      if (!prefixes.some((_, list) => isLong(list))) continue;
      const orders = sorts.map((sort) => ({ sort, groups: grouped(this.#inOrder(sort), ofRow, prefixes.length) }));
      for (const [list, prefix] of prefixes.entries()) {
        if (!isLong(list)) continue;
        for (const { sort, groups } of orders) {
          const { from, to } = boundsOf(groups, list);
          if (from === to) continue;
          const key = TABLES.longLists.prefix(prefix, TRANSACTION_ORDERS[sort].number);
          for (let at = from; (at = writer.write(this.#pending, key, sort, groups.rows, at, to)) < to;) {
            yield writer.take();
          }
        }
      }
    }
    if (!writer.isEmpty) yield writer.take();
  }

  #ofTypes({ isLongType }: LongLists): Lists {
    const isLong = this.types.map((type) => isLongType(type));
    return {
      prefixes: this.types.map((type) => TABLES.transactionsByType.prefix(type)),
      ofRow: this.#typeOfRow,
      isLong: (list) => isLong[list] === true,
      sorts: TYPE_ORDERS,
    };
  }

  #ofSenders(long: LongLists): Lists {
    return this.#ofAddresses(long, TABLES.transactionsBySender.number, this.#senderOfRow);
  }

  #ofRecipients(long: LongLists): Lists {
    return this.#ofAddresses(long, TABLES.transactionsByRecipient.number, this.#recipientOfRow);
  }

  /** Returns one list for each address, with the transactions that the address sent to itself. */
  #ofSelves(long: LongLists): Lists {
    const ofRow = this.#senderOfRow.map((sender, row) => (sender === this.#recipientOfRow[row] ? sender : NONE));
    return this.#ofAddresses(long, SELF_LIST, ofRow);
  }

  #ofAddresses({ isLongAddress }: LongLists, table: number, ofRow: Uint32Array): Lists {
    const isLong = this.addresses.map((address) => isLongAddress(address));
    const prefixes = this.#prefixes.map((senders) => {
      const prefix = Buffer.from(senders);
      prefix[0] = table;
      return prefix;
    });
    return { prefixes, ofRow, isLong: (list) => isLong[list] === true, sorts: ADDRESS_ORDERS };
  }

  #inOrder(sort: TransactionSort): Uint32Array {
    let rows = this.#rowsBy.get(sort);
    if (rows === undefined) this.#rowsBy.set(sort, (rows = this.#pending.rowsBy(sort)));
    return rows;
  }
}

function sizes(columns: readonly Uint32Array[], lists: number): Uint32Array {
  const found = new Uint32Array(lists);
  for (const column of columns) {
    for (const list of column) if (list !== NONE) found[list] = (found[list] ?? 0) + 1;
  }
  return found;
}

function boundsOf({ starts }: Groups, list: number): { readonly from: number; readonly to: number } {
  return { from: starts[list] ?? 0, to: starts[list + 1] ?? 0 };
}

function startOf(sort: TransactionSort): Buffer {
  const { table } = TRANSACTION_ORDERS[sort];
  assert(table !== undefined, 'an order of all transactions has a table');
  return TABLES[table].start;
}
