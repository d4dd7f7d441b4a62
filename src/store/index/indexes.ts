/**
 * Every index entry of a block, a transaction and an account, in one function each. The store puts what they name when the
 * thing comes and removes it when it goes, so an index cannot drift from what it points to.
 */

import type { TransactionPlace } from '../../ports/store.ts';
import type { Account } from '../../protocol/state.ts';
import type { Address, BlockHeader, Transaction } from '../../protocol/types.ts';
import { TABLES, type ListSort } from '../tables/layout.ts';
import { orderedBigint, timestampBytes, typeBytes } from '../tables/ordered-bytes.ts';

/** Keys, without values, that a block has. */
export function blockEntries(header: BlockHeader): readonly Buffer[] {
  const { height, generatorPublicKey, totalAmount, totalFee } = header;
  return [
    TABLES.blocksByAmount.key(totalAmount, height),
    TABLES.blocksByFee.key(totalFee, height),
    TABLES.generatorBlocksByAmount.key(generatorPublicKey, totalAmount, height),
    TABLES.generatorBlocksByFee.key(generatorPublicKey, totalFee, height),
  ];
}

/** Keys, without values, of a transaction among all others. */
export function transactionEntries(transaction: Transaction, place: TransactionPlace): readonly Buffer[] {
  return [
    TABLES.transactionsByAmount.key(amountOf(transaction), place),
    TABLES.transactionsByFee.key(transaction.fee, place),
    TABLES.transactionsByTimestamp.key(transaction.timestamp, place),
  ];
}

/** Key, without value, of the data of a transfer that has some. */
export function transactionDataEntry(transaction: Transaction, place: TransactionPlace): Buffer | undefined {
  const data = dataOf(transaction);
  return data === undefined ? undefined : TABLES.transactionsByData.key(data, place);
}

export interface EntryChanges {
  readonly removed: readonly Buffer[];
  readonly added: readonly Buffer[];
}

/** What the indexes of accounts lose and gain when `before` becomes `after`; undefined stands for no account. */
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

/** A part of an account that has index entries. */
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
      // A group may name a member twice, in two letter cases.
      [...new Set(account.group?.members)].map((member) => TABLES.memberships.key(member, account.address)),
  },
];

/** The value that a transaction is sorted by, as bytes that sort like it and of which none begins with another. */
export function sortValueBytes(transaction: Transaction, sort: ListSort): Buffer {
  switch (sort) {
    case 'amount':
      return orderedBigint(amountOf(transaction));
    case 'fee':
      return orderedBigint(transaction.fee);
    case 'timestamp':
      return timestampBytes(transaction.timestamp);
    case 'type':
      return typeBytes(transaction.type);
  }
}

/** What a transaction moves, as readers see it: 0 for those that move nothing. */
export function amountOf({ payload }: Transaction): bigint {
  return 'amount' in payload ? payload.amount : 0n;
}

/** Whom a transaction names as its recipient, as readers see it. */
export function recipientOf({ payload }: Transaction): Address | undefined {
  return 'recipientId' in payload ? payload.recipientId : undefined;
}

/** UTF-8 bytes of a transfer's data. */
export function dataOf({ payload }: Transaction): Buffer | undefined {
  return payload.kind === 'transfer' && payload.data !== undefined ? Buffer.from(payload.data, 'utf8') : undefined;
}

/** True for equal texts in equal order. */
export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((text, i) => text === b[i]));
}
