/**
 * Declares the tables of the store. `layout-docs.ts` makes the page docs/store-layout.md from this file, from the
 * declarations of the key parts (`key-parts.ts`), and from the list of notes (`ports/notes.ts`). A note is a small
 * record with a name that a module of the node writes to the store. The store is one database of binary keys. The first
 * byte of a key is the number of its table. Integers in keys are big-endian, so that keys sort like these integers. If
 * you change the form of a key or a value, increase `LAYOUT_VERSION`. This is not necessary if the changed code can
 * also read the earlier form.
 */

import { TRANSACTION_SORTS, type BlockAmountSort, type TransactionSort } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, BlockHeader, Transaction } from '../../protocol/types.ts';
import { PLACE_BYTES, writePlace } from './ordered-bytes.ts';
import { SORT_VALUES, type SortInteger, type SortValue } from './sort-values.ts';
import { Table } from './table.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';

export const LAYOUT_VERSION = 8;

export const TABLES = {
  meta: new Table({
    number: 1,
    role: 'local',
    key: ['name'],
    value:
      '`layout`, `generation`, `network`, `params` (consensus parameters, `params-pin.ts`): texts; `accounts`: number of accounts, ' +
      'u64; `stateChecksum`: two u32 (`state-checksum.ts`); `indexWatermark`: a height, u32, then the checksum of this entry (`index-watermark.ts`)',
  }),
  headers: new Table({
    number: 2,
    role: 'chain',
    key: ['height'],
    value: 'encoded header, which begins with the bytes that the delegate signed',
  }),
  undo: new Table({
    number: 4,
    role: 'local',
    key: ['height'],
    value: 'state values that the block overwrote (`undo.ts`), then the checksum of this record (`undo-records.ts`)',
  }),
  notes: new Table({ number: 5, role: 'local', key: ['note'], value: 'see the notes below' }),
  innerBlocks: new Table({
    number: 6,
    role: 'local',
    key: ['table', 'level', 'start'],
    value:
      'the starts of all child blocks (`key-block.ts`), then for each child block the number of keys in its subtree, u32 (`inner-block.ts`)',
  }),

  transactions: new Table({
    number: 7,
    role: 'chain',
    key: ['place'],
    value:
      'at most 256 transactions, the first of them at `place`; for each transaction its length, u32 (little endian), then the ' +
      'encoded transaction, which begins with the bytes that the sender signed',
  }),

  accounts: new Table({
    number: 16,
    role: 'state',
    key: ['address'],
    value: 'account, except its votes (`records.ts`)',
  }),
  votes: new Table({
    number: 17,
    role: 'state',
    key: ['address'],
    value: 'public keys of the delegates that the account votes for; an account without votes has no entry',
  }),
  delegates: new Table({ number: 18, role: 'state', key: ['key'], value: 'delegate (`records.ts`)' }),
  roundLists: new Table({
    number: 19,
    role: 'state',
    key: ['listIndex'],
    value: 'public keys of the delegates with the highest vote weights, highest weight first',
  }),
  bftState: new Table({
    number: 20,
    role: 'state',
    key: [],
    value: 'bytes; their format depends on the generation of the network',
  }),
  facts: new Table({
    number: 21,
    role: 'state',
    key: ['name'],
    value: 'text; its form depends on the name',
  }),

  blockIds: new Table({ number: 32, role: 'index', key: ['id'], value: 'height' }),
  transactionIds: new Table({ number: 33, role: 'index', key: ['id'], value: 'place' }),
  transactionTotals: new Table({
    number: 34,
    role: 'index',
    key: ['height'],
    value: 'number of transactions in all blocks up to and including this height, u64',
  }),
  blocksByAmount: new Table({ number: 35, role: 'index', key: ['amount', 'height'], value: '', isCounted: true }),
  blocksByFee: new Table({ number: 36, role: 'index', key: ['amount', 'height'], value: '', isCounted: true }),
  blocksByGenerator: new Table({
    number: 37,
    role: 'index',
    key: ['key', 'ordinal'],
    value:
      'height u32, timestamp u32, then two u64: the sum of the fees and the sum of the rewards of all blocks of this delegate up to and including this block',
  }),
  generatorBlocksByAmount: new Table({
    number: 38,
    role: 'index',
    key: ['key', 'amount', 'height'],
    value: '',
    isCounted: true,
  }),
  generatorBlocksByFee: new Table({
    number: 39,
    role: 'index',
    key: ['key', 'amount', 'height'],
    value: '',
    isCounted: true,
  }),
  transactionsByAmount: new Table({ number: 48, role: 'index', key: ['amount', 'place'], value: '', isCounted: true }),
  transactionsByFee: new Table({ number: 49, role: 'index', key: ['amount', 'place'], value: '', isCounted: true }),
  transactionsByTimestamp: new Table({
    number: 50,
    role: 'index',
    key: ['timestamp', 'place'],
    value: '',
    isCounted: true,
  }),
  transactionsByData: new Table({ number: 51, role: 'index', key: ['data', 'place'], value: '', isCounted: true }),
  transactionsByType: new Table({ number: 52, role: 'index', key: ['u16', 'place'], value: '', isCounted: true }),
  transactionsBySender: new Table({
    number: 53,
    role: 'index',
    key: ['(address)', 'place'],
    value: '',
    isCounted: true,
  }),
  transactionsByRecipient: new Table({
    number: 54,
    role: 'index',
    key: ['(address)', 'place'],
    value: '',
    isCounted: true,
  }),
  /**
   * Stores the sorted copies of each long list of transactions (`index/transaction-lists.ts`). There is one copy for
   * each sort order of the list, except the order of the chain. A long list is either a list of one of the three tables
   * above, or the list of the transactions from an address to itself (`SELF_LIST`).
   */
  longLists: new Table({
    number: 55,
    role: 'index',
    key: ['list', 'sort', 'value', 'place'],
    value: '',
    isCounted: true,
  }),

  usernames: new Table({ number: 64, role: 'index', key: ['name'], value: 'public key of the delegate' }),
  accountsByBalance: new Table({ number: 65, role: 'index', key: ['amount', 'address'], value: '', isCounted: true }),
  secondPublicKeys: new Table({
    number: 66,
    role: 'index',
    key: ['key', 'amount', 'address'],
    value: '',
    isCounted: true,
  }),
  voters: new Table({ number: 67, role: 'index', key: ['key', 'voter', 'address'], value: '', isCounted: true }),
  memberships: new Table({ number: 68, role: 'index', key: ['key', 'address'], value: '' }),
} as const;

export type TableName = keyof typeof TABLES;

/**
 * The counted tables. The keys of a counted table form a counted key set (`index/counted-key-sets.ts`). Counting the
 * keys of a range, or skipping any number of keys at the beginning of a range (`offset` in `KeyRange`), takes
 * logarithmic time.
 */
export const COUNTED_TABLES: readonly TableName[] = (Object.keys(TABLES) as TableName[]).filter(
  (name) => TABLES[name].isCounted,
);

/** Numbers of tables that only earlier layouts had. These numbers must never be used again. */
export const RETIRED_TABLES: readonly number[] = [3];

/**
 * The prefix of a list of transactions from an address to itself begins with this number in place of a table number. No
 * table has this number.
 */
export const SELF_LIST = 56;

export const META_LAYOUT = 'layout';
export const META_GENERATION = 'generation';
export const META_NETWORK = 'network';
export const META_PARAMS = 'params';
export const META_ACCOUNTS = 'accounts';
export const META_STATE_CHECKSUM = 'stateChecksum';
export const META_INDEX_WATERMARK = 'indexWatermark';

/** Tables of consensus state, sorted by their numbers. */
export const STATE_TABLES: readonly TableName[] = (Object.keys(TABLES) as TableName[])
  .filter((name) => TABLES[name].role === 'state')
  .sort((a, b) => TABLES[a].number - TABLES[b].number);

/** All keys of consensus state. The numbers of the state tables are consecutive. */
export const STATE_RANGE = {
  gte: TABLES.accounts.all.gte,
  lt: TABLES.facts.all.lt,
} as const;

/** True for a key of consensus state. */
export function isStateKey(key: Uint8Array): boolean {
  const table = key[0] ?? 0;
  return table >= TABLES.accounts.number && table <= TABLES.facts.number;
}

/**
 * Key of an entry in a list of transactions: the prefix of the list, then the position of the transaction in the chain
 * (block height and index in the block).
 */
export function listPlaceKey(list: Uint8Array, place: TransactionPlace): Buffer {
  const key = Buffer.allocUnsafe(list.length + PLACE_BYTES);
  key.set(list, 0);
  writePlace(key, place.height, place.index, list.length);
  return key;
}

/**
 * Prefix of the list of transactions from an address to itself. The store has this list only if the two lists of the
 * address (sent and received) are long. In this case, the store keeps this list in each order of `ADDRESS_ORDERS`, but
 * not in the order of the chain.
 */
export function selfListKey(address: Address): Buffer {
  const key = TABLES.transactionsBySender.prefix(address);
  key[0] = SELF_LIST;
  return key;
}

/** A sort order of transactions, with its table and the form of its values in keys. */
export interface TransactionOrder {
  /**
   * Number that stands for this sort order in the keys of long lists. The number must never be used for another sort
   * order.
   */
  readonly number: number;
  /**
   * Table of all transactions in this order. This member is undefined for the order by type, because the order by type
   * needs no table of its own. The lists of the single types, one after the other, give all transactions in the order
   * by type.
   */
  readonly table: TableName | undefined;
  /**
   * Form of the sort value (for example, the amount) in a key. The position of the transaction in the chain (block
   * height and index in the block) follows the sort value.
   */
  readonly value: SortValue;
  of(transaction: Transaction): SortInteger;
}

export const TRANSACTION_ORDERS: Readonly<Record<TransactionSort, TransactionOrder>> = {
  amount: { number: 1, table: 'transactionsByAmount', value: SORT_VALUES.amount, of: amountOf },
  fee: { number: 2, table: 'transactionsByFee', value: SORT_VALUES.amount, of: ({ fee }) => fee },
  timestamp: {
    number: 3,
    table: 'transactionsByTimestamp',
    value: SORT_VALUES.timestamp,
    of: ({ timestamp }) => timestamp,
  },
  type: { number: 4, table: undefined, value: SORT_VALUES.u16, of: ({ type }) => type },
};

/**
 * The sort orders in which the store keeps a long transaction list of an address, besides the order of the chain. This
 * array is sorted by the numbers of the sort orders.
 */
export const ADDRESS_ORDERS: readonly TransactionSort[] = TRANSACTION_SORTS.toSorted(
  (a, b) => TRANSACTION_ORDERS[a].number - TRANSACTION_ORDERS[b].number,
);
/**
 * The sort orders in which the store keeps a long transaction list of one type, besides the order of the chain. The
 * store keeps the list of all transactions in the same sort orders.
 */
export const TYPE_ORDERS: readonly TransactionSort[] = ADDRESS_ORDERS.filter(
  (sort) => TRANSACTION_ORDERS[sort].table !== undefined,
);

/** A sort order of blocks that differs from the order of the chain. */
export interface BlockOrder {
  readonly table: 'blocksByAmount' | 'blocksByFee';
  readonly tableOfGenerator: 'generatorBlocksByAmount' | 'generatorBlocksByFee';
  of(header: BlockHeader): bigint;
}

export const BLOCK_ORDERS: Readonly<Record<BlockAmountSort, BlockOrder>> = {
  totalAmount: {
    table: 'blocksByAmount',
    tableOfGenerator: 'generatorBlocksByAmount',
    of: ({ totalAmount }) => totalAmount,
  },
  totalFee: { table: 'blocksByFee', tableOfGenerator: 'generatorBlocksByFee', of: ({ totalFee }) => totalFee },
};
