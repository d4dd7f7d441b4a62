/**
 * Computes the index entries of blocks, transactions and accounts. Three functions compute the entries of a block, of
 * an account, and of the data of a transfer. To remove entries, the store uses the same function as to add these
 * entries. It therefore always removes exactly the entries that it added. Two other functions, `transactionEntries` and
 * `longListEntry`, compute only entries that the store removes. The entries that the store adds to the same tables come
 * from the module posting-lists.ts, which computes the entries of many transactions together.
 */

import { assert } from '../../primitives/errors.ts';
import type { TransactionSort } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Account } from '../../protocol/state.ts';
import type { BlockHeader, Transaction } from '../../protocol/types.ts';
import { BLOCK_ORDERS, TABLES, TRANSACTION_ORDERS, TYPE_ORDERS } from '../tables/layout.ts';
import { placeBytes } from '../tables/ordered-bytes.ts';
import { bytesOf } from '../tables/sort-values.ts';
import { dataOf } from '../tables/transaction-values.ts';

/** Returns the index keys of a block in the tables that sort blocks by amount or by fee. The keys have no values. */
export function blockEntries(header: BlockHeader): readonly Buffer[] {
  const { height, generatorPublicKey } = header;
  return Object.values(BLOCK_ORDERS).flatMap(({ table, tableOfGenerator, of }) => [
    TABLES[table].key(of(header), height),
    TABLES[tableOfGenerator].key(generatorPublicKey, of(header), height),
  ]);
}

/** Returns the index keys of a transaction in the tables that sort all transactions. The keys have no values. */
export function transactionEntries(transaction: Transaction, place: TransactionPlace): readonly Buffer[] {
  return TYPE_ORDERS.map((sort) => {
    const { table, value, of } = TRANSACTION_ORDERS[sort];
    assert(table !== undefined, 'an order of all transactions has a table');
    return Buffer.concat([TABLES[table].start, bytesOf(value, of(transaction)), placeBytes(place)]);
  });
}

/**
 * Returns the index key of a transaction in one sort order of a long list. A list contains the transactions of one
 * address or of one transaction type. A long list has so many transactions that the store keeps the list in several
 * sort orders. The key has no value.
 */
export function longListEntry(
  list: Uint8Array,
  sort: TransactionSort,
  transaction: Transaction,
  place: TransactionPlace,
): Buffer {
  const { number, value, of } = TRANSACTION_ORDERS[sort];
  return TABLES.longLists.key(list, number, bytesOf(value, of(transaction)), place);
}

/**
 * Returns the index key of the data of a transfer. The key has no value. The result is undefined for a transfer without
 * data and for a transaction that is not a transfer.
 */
export function transactionDataEntry(transaction: Transaction, place: TransactionPlace): Buffer | undefined {
  const data = dataOf(transaction);
  return data === undefined ? undefined : TABLES.transactionsByData.key(data, place);
}

export interface EntryChanges {
  readonly removed: readonly Buffer[];
  readonly added: readonly Buffer[];
}

/**
 * Returns the index keys to remove and to add when an account changes from `before` to `after`. If `before` is
 * undefined, the account is new. If `after` is undefined, the account is removed.
 */
export function accountEntryChanges(before: Account | undefined, after: Account | undefined): EntryChanges {
  const removed: Buffer[] = [];
  const added: Buffer[] = [];
  for (const facet of ACCOUNT_FACETS) {
    if (before !== undefined && after !== undefined && facet.same(before, after)) continue;
    if (before !== undefined) removed.push(...facet.entries(before));
    if (after !== undefined) added.push(...facet.entries(after));
  }
  return { removed, added };
}

/**
 * A part of an account that has its own index entries. `same` compares this part of two accounts, and `entries` returns
 * the index keys for this part.
 */
interface AccountFacet {
  same(a: Account, b: Account): boolean;
  entries(account: Account): readonly Buffer[];
}

const ACCOUNT_FACETS: readonly AccountFacet[] = [
  {
    same: (a, b) => a.balance === b.balance,
    entries: (account) => [TABLES.accountsByBalance.key(account.balance, account.address)],
  },
  {
    same: (a, b) =>
      a.secondPublicKey === b.secondPublicKey && (a.secondPublicKey === undefined || a.balance === b.balance),
    entries: ({ secondPublicKey, balance, address }) => {
      if (secondPublicKey === undefined) return [];
      return [TABLES.secondPublicKeys.key(secondPublicKey, balance, address)];
    },
  },
  {
    same: (a, b) => a.publicKey === b.publicKey && sameTexts(a.votes, b.votes),
    entries: (account) =>
      account.votes.map((delegate) => TABLES.voters.key(delegate, account.publicKey, account.address)),
  },
  {
    same: (a, b) => sameTexts(a.group?.members ?? [], b.group?.members ?? []),
    entries: (account) =>
      // The registration of a group can name a member twice, once in upper case and once in lower case. The list
      // `members` of the group then contains the same lower-case key twice. The `Set` removes the duplicate.
      [...new Set(account.group?.members)].map((member) => TABLES.memberships.key(member, account.address)),
  },
];

/** True if both lists have the same texts in the same order. */
export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((text, i) => text === b[i]));
}
