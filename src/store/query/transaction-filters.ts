/**
 * Defines the filters of a query for transactions. The table `TRANSACTION_FILTERS` has one row for each filter, and the
 * compiler reports a missing row. A row has the predicate of its filter and a source that contains all matching
 * transactions. The source is a list (the transactions of an address or of a type), a range of sort values (amounts or
 * timestamps), or a set of candidates (`candidates.ts`). `filter-plan.ts` combines the filters of a query.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { PageRequest, TransactionQuery, TransactionSort } from '../../ports/queries.ts';
import type { TransactionPlace } from '../../ports/store.ts';
import type { Address, PublicKey, Transaction } from '../../protocol/types.ts';
import type { StoredChain } from '../chain/stored-chain.ts';
import { TABLES } from '../tables/layout.ts';
import { isU16 } from '../tables/ordered-bytes.ts';
import type { SortInteger } from '../tables/sort-values.ts';
import { dataOf } from '../tables/transaction-values.ts';
import { amountOf } from '../../protocol/tx/amounts.ts';
import { recipientOf } from '../../protocol/tx/recipient.ts';
import { inRange, ofBlock, withId, type Candidates } from './candidates.ts';
import { LikePattern } from './like.ts';
import type { ListFilter } from './ordered-places.ts';

export type Predicate = (transaction: Transaction, place: TransactionPlace) => boolean;

/** The filters of a query: all members of the query except sort and page. */
export type TransactionFilters = Omit<TransactionQuery, keyof PageRequest | 'sort'>;

/** The data that a filter's functions need besides the filter's own value: the store, and all filters of the query. */
interface FilterContext {
  readonly store: StoredChain;
  readonly filters: TransactionFilters;
}

/** A list of the store that contains all transactions that match one filter. */
interface ContainingList {
  readonly list: ListFilter;
  /** True if all transactions of the list match the filter. */
  readonly isExact: boolean;
}

/**
 * The range of sort values that a filter allows, for example a range of amounts. Both bounds belong to the range. A
 * transaction matches this filter if and only if its sort value is in the range.
 */
export interface ValueRange {
  readonly order: TransactionSort;
  readonly from?: SortInteger;
  readonly to?: SortInteger;
}

interface TransactionFilter<T> {
  /** Returns the predicate for a value of the filter; undefined if no transaction can match this value. */
  predicate(value: T, context: FilterContext): Predicate | undefined;
  /** Returns a list of the store that contains all matching transactions; undefined if the store has no such list. */
  readonly containingList?: (value: T, context: FilterContext) => ContainingList | undefined;
  /** Returns the range of the sort values of matching transactions. */
  readonly valueRange?: (value: T) => ValueRange;
  /** Returns a set of candidates that includes all matching transactions, and perhaps other transactions. */
  readonly candidates?: (value: T, context: FilterContext) => Candidates;
}

type TransactionFilterTable = {
  readonly [F in keyof Required<TransactionFilters>]: TransactionFilter<NonNullable<TransactionFilters[F]>>;
};

const PUBLIC_KEY_TEXT = /^[0-9a-f]{64}$/;
const ADDRESS_BYTES_MAX = 255;
const MATCHES_ALL: Predicate = () => true;

/**
 * Returns `predicate` if `canBe` is true. If `canBe` is false, no stored transaction can match the filter, and the
 * result is undefined.
 */
function matchesIf(canBe: boolean, predicate: Predicate): Predicate | undefined {
  return canBe ? predicate : undefined;
}

function listOf(kind: 'sender' | 'recipient' | 'party', address: Address, isExact = true): ContainingList | undefined {
  return isAddress(address) ? { list: { kind, address }, isExact } : undefined;
}

const TRANSACTION_FILTERS: TransactionFilterTable = {
  id: {
    predicate: (id) => (transaction) => transaction.id === id,
    candidates: (id, { store }) => withId(store, id),
  },
  blockId: {
    predicate: (id, { store }) => {
      const height = store.heightOf(id);
      return matchesIf(height !== undefined, (_transaction, place) => place.height === height);
    },
    candidates: (id, { store }) => ofBlock(store, store.heightOf(id) ?? 0),
  },
  height: {
    predicate: (height) => (_transaction, place) => place.height === height,
    candidates: (height, { store }) => ofBlock(store, height),
  },
  type: {
    predicate: (type) => matchesIf(isU16(type), (transaction) => transaction.type === type),
    containingList: (type) => (isU16(type) ? { list: { kind: 'type', type }, isExact: true } : undefined),
  },
  senderId: {
    predicate: (address, { filters }) =>
      filters.senderIdOrRecipientId === undefined
        ? matchesIf(isAddress(address), ({ senderId }) => senderId === address)
        : MATCHES_ALL,
    containingList: (address, { filters }) =>
      filters.senderIdOrRecipientId === undefined ? listOf('sender', address) : undefined,
  },
  recipientId: {
    predicate: (address, { filters }) =>
      filters.senderIdOrRecipientId === undefined
        ? matchesIf(isAddress(address), (transaction) => recipientOf(transaction) === address)
        : MATCHES_ALL,
    containingList: (address, { filters }) =>
      filters.senderIdOrRecipientId === undefined ? listOf('recipient', address) : undefined,
  },
  // If a query has this filter, the predicate of this row also evaluates the filters `senderId` and `recipientId`. A
  // transaction matches if the address is its sender and `recipientId` (if given) matches. A transaction also matches
  // if the address is its recipient and `senderId` (if given) matches. In such a query, the predicates of the rows
  // `senderId` and `recipientId` are true for every transaction.
  senderIdOrRecipientId: {
    predicate: (address, { filters: { senderId, recipientId } }) =>
      matchesIf(isAddress(address), (transaction) => {
        const recipient = recipientOf(transaction);
        return (
          (transaction.senderId === address && (recipientId === undefined || recipient === recipientId)) ||
          (recipient === address && (senderId === undefined || transaction.senderId === senderId))
        );
      }),
    containingList: (address) => listOf('party', address),
  },
  senderPublicKey: {
    predicate: (text) => {
      const key = text.toLowerCase();
      return matchesIf(PUBLIC_KEY_TEXT.test(key), ({ senderPublicKey }) => senderPublicKey === key);
    },
    // All transactions with this sender key are in the sender list of the key's address. An account can use only one
    // public key. If the account at this address has the sender key, the list is therefore exact.
    containingList: (text, { store }) => {
      const key = text.toLowerCase();
      if (!PUBLIC_KEY_TEXT.test(key)) return undefined;
      return listOf('sender', addressOf(key), addressWithKey(store, key) !== undefined);
    },
  },
  recipientPublicKey: {
    predicate: (text, { store }) => {
      const address = addressWithKey(store, text.toLowerCase());
      return matchesIf(address !== undefined, (transaction) => recipientOf(transaction) === address);
    },
    containingList: (text, { store }) => {
      const address = addressWithKey(store, text.toLowerCase());
      return address === undefined ? undefined : listOf('recipient', address);
    },
  },
  minAmount: {
    predicate: (min) => (transaction) => amountOf(transaction) >= min,
    valueRange: (from) => ({ order: 'amount', from }),
  },
  maxAmount: {
    predicate: (max) => (transaction) => amountOf(transaction) <= max,
    valueRange: (to) => ({ order: 'amount', to }),
  },
  fromTimestampS: {
    predicate:
      (from) =>
      ({ timestamp }) =>
        timestamp >= from,
    valueRange: (from) => ({ order: 'timestamp', from: Math.ceil(from) }),
  },
  toTimestampS: {
    predicate:
      (to) =>
      ({ timestamp }) =>
        timestamp <= to,
    valueRange: (to) => ({ order: 'timestamp', to: Math.floor(to) }),
  },
  dataPattern: {
    predicate: (text) => {
      const pattern = new LikePattern(Buffer.from(text, 'utf8'));
      return (transaction) => {
        const data = dataOf(transaction);
        return data !== undefined && pattern.matches(data);
      };
    },
    candidates: (text, { store }) => {
      const prefix = new LikePattern(Buffer.from(text, 'utf8')).literalPrefix();
      return inRange(store, TABLES.transactionsByData.range(Buffer.from(prefix)));
    },
  },
};

/**
 * A filter that the query uses. Each member is the result of the function with the same name in the row of this filter
 * (`TRANSACTION_FILTERS`). The argument of the function is the value that the query has for this filter.
 */
interface FilterInUse {
  readonly predicate: Predicate | undefined;
  readonly containingList: ContainingList | undefined;
  readonly valueRange: ValueRange | undefined;
  readonly candidates: Candidates | undefined;
}

/** Returns the filters that the query uses. */
export function filtersInUse(store: StoredChain, filters: TransactionFilters): readonly FilterInUse[] {
  const context = { store, filters };
  const inUse = <F extends keyof TransactionFilters>(name: F): FilterInUse | undefined => {
    const row = TRANSACTION_FILTERS[name] as TransactionFilter<NonNullable<TransactionFilters[F]>>;
    const value = filters[name];
    if (value === undefined) return undefined;
    return {
      get predicate() {
        return row.predicate(value, context);
      },
      get containingList() {
        return row.containingList?.(value, context);
      },
      valueRange: row.valueRange?.(value),
      get candidates() {
        return row.candidates?.(value, context);
      },
    };
  };
  return (Object.keys(TRANSACTION_FILTERS) as (keyof TransactionFilters)[])
    .map((name) => inUse(name))
    .filter((filter) => filter !== undefined);
}

function isAddress(address: Address): boolean {
  return Buffer.byteLength(address) <= ADDRESS_BYTES_MAX;
}

function addressWithKey(store: StoredChain, publicKey: PublicKey): Address | undefined {
  if (!PUBLIC_KEY_TEXT.test(publicKey)) return undefined;
  const address = addressOf(publicKey);
  return store.account(address)?.publicKey === publicKey ? address : undefined;
}
