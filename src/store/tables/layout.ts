/**
 * The published table of all keys. One database of binary keys: the first byte is the number of the table, the rest is
 * big-endian, so that keys sort as what they mean. A change of any key or value is a new `LAYOUT_VERSION`.
 *
 * Parts of keys: `height` u32, `index` u16 (position in a block), `place` = height index, `ordinal` u32 (position in a
 * list, from 0), `id` u64, `key` 32 bytes, `address` UTF-8 text up to the end, `(address)` the same behind its length u8,
 * `amount` an ordered signed integer of any size (`orderedBigint`).
 */

import { writeU64BE } from '../../primitives/bytes.ts';
import { assert } from '../../primitives/errors.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, BlockId, PublicKey, TransactionId } from '../../protocol/types.ts';
import {
  EMPTY,
  PLACE_BYTES,
  isU16,
  sizeOfBigint,
  writeOrderedBigint,
  writePlace,
  writeTimestamp,
  writeU32,
} from './ordered-bytes.ts';

export const LAYOUT_VERSION = 5;
/** Lacks the checksum of state alone: it is given one by the first transaction, which makes it one of this layout. */
const LAYOUT_WITHOUT_CHECKSUM = 4;

/** Whether this version reads a layout. */
export function isLayoutRead(layout: number): boolean {
  return layout === LAYOUT_VERSION || layout === LAYOUT_WITHOUT_CHECKSUM;
}

/**
 * What a table is for. `state` is consensus state: it goes into the digest and into undo records. `chain` is blocks as they
 * were signed, `index` can be made again from the two, `local` belongs to this node alone.
 */
export type TableRole = 'state' | 'chain' | 'index' | 'local';

export interface Table {
  readonly number: number;
  readonly role: TableRole;
  readonly key: string;
  readonly value: string;
}

export const TABLES = {
  meta: {
    number: 1,
    role: 'local',
    key: 'name',
    value:
      'text: layout (and the height that indexes are behind above), generation, network; u64: accounts (their number); ' +
      'checksum of state: two u32 (state-checksum.ts)',
  },
  headers: { number: 2, role: 'chain', key: 'height', value: 'header as the codec encodes it: the signed bytes first' },
  undo: { number: 4, role: 'local', key: 'height', value: 'what the block overwrote (undo.ts)' },
  notes: { number: 5, role: 'local', key: 'name', value: 'bytes of the engine' },
  runs: {
    number: 6,
    role: 'local',
    key: 'index key, its table first, that a run of neighbours begins with; the table alone for the first',
    value: 'u32: keys of the run (counted.ts)',
  },

  transactions: {
    number: 7,
    role: 'chain',
    key: 'place of the first of at most 256 transactions',
    value: 'for each of them its length u32 (little endian) and what the codec encodes it as: the signed bytes first',
  },

  accounts: { number: 16, role: 'state', key: 'address', value: 'account without votes (records.ts)' },
  votes: { number: 17, role: 'state', key: 'address', value: 'keys of the delegates voted for; no entry for none' },
  delegates: { number: 18, role: 'state', key: 'key', value: 'delegate (records.ts)' },
  roundLists: { number: 19, role: 'state', key: 'list index u32', value: 'keys of the delegates, best first' },
  ledger: { number: 20, role: 'state', key: '', value: "bytes of the generation's own" },
  facts: { number: 21, role: 'state', key: 'name', value: "text of the generation's own" },

  blockIds: { number: 32, role: 'index', key: 'id', value: 'height' },
  transactionIds: { number: 33, role: 'index', key: 'id', value: 'place' },
  transactionTotals: { number: 34, role: 'index', key: 'height', value: 'u64: transactions of the chain up to here' },
  blocksByAmount: { number: 35, role: 'index', key: 'amount height', value: '' },
  blocksByFee: { number: 36, role: 'index', key: 'amount height', value: '' },
  blocksByGenerator: {
    number: 37,
    role: 'index',
    key: 'key ordinal',
    value: 'height, timestamp u32, u64 fees and u64 rewards of all its blocks up to here',
  },
  generatorBlocksByAmount: { number: 38, role: 'index', key: 'key amount height', value: '' },
  generatorBlocksByFee: { number: 39, role: 'index', key: 'key amount height', value: '' },
  transactionsByAmount: { number: 48, role: 'index', key: 'amount place', value: '' },
  transactionsByFee: { number: 49, role: 'index', key: 'amount place', value: '' },
  transactionsByTimestamp: {
    number: 50,
    role: 'index',
    key: 'timestamp i32 with its sign bit turned, place',
    value: '',
  },
  transactionsByData: { number: 51, role: 'index', key: 'UTF-8 data of a transfer that has some, place', value: '' },
  transactionsByType: { number: 52, role: 'index', key: 'type u16, place', value: '' },
  transactionsBySender: { number: 53, role: 'index', key: '(address) place', value: '' },
  transactionsByRecipient: { number: 54, role: 'index', key: '(address) place', value: '' },
  longLists: {
    number: 55,
    role: 'index',
    key:
      'prefix of a long list of the three above, or of its kind 56 (address) for what an address sent to itself; sort u8; ' +
      'the value sorted by, as the tables above have it; place',
    value: '',
  },

  usernames: { number: 64, role: 'index', key: 'UTF-8 name', value: 'key' },
  accountsByBalance: { number: 65, role: 'index', key: 'amount address', value: '' },
  secondPublicKeys: { number: 66, role: 'index', key: 'key amount address', value: '' },
  voters: {
    number: 67,
    role: 'index',
    key: 'key of the delegate, u8 0 and key of the voter (u8 1 alone for none), address of the voter',
    value: '',
  },
  memberships: { number: 68, role: 'index', key: 'key of the member, address of the group', value: '' },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

/** Numbers of tables that earlier layouts had. They are never given out again. */
export const RETIRED_TABLES: readonly number[] = [3];

export const META_LAYOUT = 'layout';
export const META_GENERATION = 'generation';
export const META_NETWORK = 'network';
export const META_PARAMS = 'params';
export const META_ACCOUNTS = 'accounts';
export const META_STATE_CHECKSUM = 'stateChecksum';

/**
 * Text under `META_LAYOUT`. While indexes of transactions are behind it says so, in a form that no version knows which can not
 * write them.
 *
 * @param indexedTo height above which transactions stand in no index; undefined when all do
 */
export function layoutText(indexedTo: number | undefined): string {
  return indexedTo === undefined ? String(LAYOUT_VERSION) : `${LAYOUT_VERSION}${BEHIND}${indexedTo}`;
}

const BEHIND = ' without indexes of transactions above height ';

/** What a text says that `layoutText` made. */
export function layoutOf(text: string): { readonly layout: string; readonly indexedTo: number | undefined } {
  const [layout = '', height, ...rest] = text.split(BEHIND);
  if (height === undefined || rest.length > 0 || !/^\d{1,10}$/.test(height))
    return { layout: text, indexedTo: undefined };
  return { layout, indexedTo: Number(height) };
}

/** The first byte of a table's keys: also the prefix that covers the whole table. */
export function tablePrefix(table: TableName): Buffer {
  return Buffer.from([TABLES[table].number]);
}

/** Tables of consensus state, in the order of their numbers. */
export const STATE_TABLES: readonly TableName[] = (Object.keys(TABLES) as TableName[])
  .filter((name) => TABLES[name].role === 'state')
  .sort((a, b) => TABLES[a].number - TABLES[b].number);

/** All keys of consensus state: its tables stand side by side. */
export const STATE_RANGE = {
  gte: Buffer.from([TABLES.accounts.number]),
  lt: Buffer.from([TABLES.facts.number + 1]),
} as const;

/** Whether a key is of consensus state. */
export function isStateKey(key: Uint8Array): boolean {
  const table = key[0] ?? 0;
  return table >= TABLES.accounts.number && table <= TABLES.facts.number;
}

// ---- keys -----------------------------------------------------------------------------------------------------------

export function heightKey(table: 'headers' | 'undo' | 'roundLists' | 'transactionTotals', height: number): Buffer {
  const key = Buffer.allocUnsafe(5);
  key[0] = TABLES[table].number;
  writeU32(key, height, 1);
  return key;
}

export function placeKey(place: TransactionPlace): Buffer {
  const key = Buffer.allocUnsafe(7);
  key[0] = TABLES.transactions.number;
  writePlace(key, place.height, place.index, 1);
  return key;
}

export function textKey(table: 'meta' | 'notes' | 'accounts' | 'votes' | 'usernames' | 'facts', text: string): Buffer {
  const key = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
  key[0] = TABLES[table].number;
  key.write(text, 1);
  return key;
}

/** @param id canonical decimal text of an unsigned 64-bit integer */
export function idKey(table: 'blockIds' | 'transactionIds', id: BlockId | TransactionId): Buffer {
  const key = Buffer.allocUnsafe(9);
  key[0] = TABLES[table].number;
  writeU64BE(key, BigInt(id), 1);
  return key;
}

/** Key of a delegate; also the prefix of what is listed under a public key. */
export function publicKeyKey(
  table:
    | 'delegates'
    | 'blocksByGenerator'
    | 'generatorBlocksByAmount'
    | 'generatorBlocksByFee'
    | 'secondPublicKeys'
    | 'voters'
    | 'memberships',
  publicKey: PublicKey,
): Buffer {
  const key = Buffer.allocUnsafe(33);
  key[0] = TABLES[table].number;
  const written = key.write(publicKey, 1, 'hex');
  assert(written === 32 && publicKey.length === 64, 'a public key is 32 bytes in hexadecimal');
  return key;
}

/** @param start key, its table first, that the run begins with */
export function runKey(start: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(1 + start.length);
  key[0] = TABLES.runs.number;
  key.set(start, 1);
  return key;
}

export function ledgerKey(): Buffer {
  return tablePrefix('ledger');
}

/** Prefix of an address's list. */
export function addressListKey(table: 'transactionsBySender' | 'transactionsByRecipient', address: Address): Buffer {
  const bytes = Buffer.byteLength(address);
  assert(bytes <= 255, 'an address is at most 255 bytes');
  const key = Buffer.allocUnsafe(2 + bytes);
  key[0] = TABLES[table].number;
  key[1] = bytes;
  key.write(address, 2);
  return key;
}

/** Prefix of a type's list. */
export function typeListKey(type: number): Buffer {
  assert(isU16(type), 'a type number fits 16 bits');
  const key = Buffer.allocUnsafe(3);
  key[0] = TABLES.transactionsByType.number;
  key.writeUInt16BE(type, 1);
  return key;
}

/** Entry of a list of transactions: its prefix, then the place. */
export function listPlaceKey(list: Uint8Array, place: TransactionPlace): Buffer {
  const key = Buffer.allocUnsafe(list.length + PLACE_BYTES);
  key.set(list, 0);
  writePlace(key, place.height, place.index, list.length);
  return key;
}

/** Entry of a list with positions: its prefix, then the position. */
export function listItemKey(list: Uint8Array, ordinal: number): Buffer {
  const key = Buffer.allocUnsafe(list.length + 4);
  key.set(list, 0);
  writeU32(key, ordinal, list.length);
  return key;
}

export type AmountTable =
  'blocksByAmount' | 'blocksByFee' | 'transactionsByAmount' | 'transactionsByFee' | 'accountsByBalance';

/** Prefix of what an address sent to itself: these lists are kept sorted alone, and only where they are long. */
export function selfListKey(address: Address): Buffer {
  const key = Buffer.from(addressListKey('transactionsBySender', address));
  key[0] = SELF_LIST;
  return key;
}

/** The number is no table's: it stands inside the keys of long lists. */
export const SELF_LIST = 56;

/** Sorts of long lists. A number is never used for another. */
export const LIST_SORTS = { amount: 1, fee: 2, timestamp: 3, type: 4 } as const;
export type ListSort = keyof typeof LIST_SORTS;

/** Prefix of a long list in one of its orders. @param list the list's own prefix */
export function longListKey(list: Uint8Array, sort: ListSort): Buffer {
  const key = Buffer.allocUnsafe(2 + list.length);
  key[0] = TABLES.longLists.number;
  key.set(list, 1);
  key[1 + list.length] = LIST_SORTS[sort];
  return key;
}

/** Entry of a long list in one of its orders. In one allocation: a transfer between busy addresses has eleven of them. */
export function longListEntry(list: Uint8Array, sort: ListSort, value: Uint8Array, tail: Uint8Array): Buffer {
  const at = 2 + list.length;
  const key = Buffer.allocUnsafe(at + value.length + tail.length);
  key[0] = TABLES.longLists.number;
  key.set(list, 1);
  key[at - 1] = LIST_SORTS[sort];
  key.set(value, at);
  key.set(tail, at + value.length);
  return key;
}

/** Entry of a table sorted by amount, `tail` being what it points to; without one the prefix of all entries of the amount. */
export function amountKey(table: AmountTable, amount: bigint, tail: Uint8Array = EMPTY): Buffer {
  const magnitude = amount < 0n ? -amount : amount;
  const size = sizeOfBigint(magnitude);
  const key = Buffer.allocUnsafe(2 + size + tail.length);
  key[0] = TABLES[table].number;
  writeOrderedBigint(key, amount < 0n, magnitude, size, 1);
  key.set(tail, 2 + size);
  return key;
}

export function timestampKey(timestamp: number, tail: Uint8Array = EMPTY): Buffer {
  const key = Buffer.allocUnsafe(5 + tail.length);
  key[0] = TABLES.transactionsByTimestamp.number;
  writeTimestamp(key, timestamp, 1);
  key.set(tail, 5);
  return key;
}
