/**
 * Defines the queries about the chain. The store implements the queries and returns lists in pages. A result contains
 * only the items that match all given filters, unless the comment of a filter says otherwise. Each page states the
 * exact number of all matches. The `http` module defines the text format and the default of each query parameter.
 */

import type { Account, Delegate } from '../protocol/state.ts';
import type { Address, Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../protocol/types.ts';

export interface PageRequest {
  /** Maximum number of items in the page; at least 1. */
  readonly limit: number;
  /** Number of items to skip; at least 0. */
  readonly offset: number;
  /**
   * The page begins after this position of the list. If `after` is absent, the page begins at `offset`. The cursor
   * stays valid even if the item at its position has left the list. A client can read page after page with the cursor
   * `next` of each page. If the client does so, each item that stays in the list with the same sort value is on exactly
   * one page. A cursor of another list causes a ProtocolError `CURSOR_INVALID`, or selects an arbitrary position.
   */
  readonly after?: Cursor;
}

/** The position of an item in a sorted list. */
export interface Cursor {
  /**
   * Sort value of the item at this position of the list, as text; empty if the item has no sort value (for example, if
   * the list is sorted by rank, and a delegate has no rank).
   */
  readonly value: string;
  /** Text that decides the order of items with the same sort value, for example an address. */
  readonly tie: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of all matches, not only of the matches on this page. */
  readonly total: number;
  /** The position of the last item of the page; absent if no item follows the page. */
  readonly next?: Cursor;
}

export type Direction = 'asc' | 'desc';

export interface Sort<Field extends string> {
  readonly field: Field;
  readonly direction: Direction;
}

/** An account. If the account is a delegate, the entry also contains the data of the delegate. */
export interface AccountEntry {
  readonly account: Account;
  readonly delegate?: DelegateEntry;
}

/** A delegate, with values that the store computes from the state at the tip. */
export interface DelegateEntry {
  readonly delegate: Delegate;
  readonly account: Account;
  /**
   * Rank of the delegate; 1 is the best. In generation 2 (the protocol of lisk-sdk 2.3), the rank is null for a
   * delegate that registered after the end of the latest complete round.
   */
  readonly rank: number | null;
  /**
   * Percentage of the delegate's slots in which the delegate produced a block, with two decimals; 0 before the
   * delegate's first slot.
   */
  readonly productivity: number;
  /** Vote weight of the delegate as a percentage of the supply, with two decimals. */
  readonly approval: number;
}

export interface AccountQuery extends PageRequest {
  readonly address?: Address;
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  /** Pattern of SQL LIKE: `%` and `_` are wildcards, and a backslash makes the next character literal. */
  readonly usernamePattern?: string;
  readonly sort: Sort<'balance'>;
}

export interface DelegateQuery extends PageRequest {
  readonly address?: Address;
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  readonly username?: string;
  /** Pattern of SQL LIKE: `%` and `_` are wildcards, and a backslash makes the next character literal. */
  readonly usernamePattern?: string;
  readonly sort: Sort<'username' | 'rank' | 'voteWeight' | 'productivity' | 'missedBlocks' | 'producedBlocks'>;
}

/**
 * The sort fields of blocks for which the store needs an index. The order by height or by timestamp is the order of the
 * chain, so these two sort fields are not included.
 */
export type BlockAmountSort = 'totalAmount' | 'totalFee';

/**
 * A query for blocks. `fromTimestampS` and `toTimestampS` are in whole seconds since the epoch of the network. Blocks
 * with exactly these timestamps also match.
 */
export interface BlockQuery extends PageRequest {
  readonly blockId?: BlockId;
  readonly height?: number;
  readonly fromTimestampS?: number;
  readonly toTimestampS?: number;
  readonly generatorPublicKey?: PublicKey;
  readonly sort: Sort<'height' | 'timestamp' | BlockAmountSort>;
}

/**
 * Sort fields of transactions. The constant `TRANSACTION_ORDERS` in `store/tables/layout.ts` has an entry for each sort
 * field.
 */
export const TRANSACTION_SORTS = ['amount', 'fee', 'type', 'timestamp'] as const;
export type TransactionSort = (typeof TRANSACTION_SORTS)[number];

/**
 * A query for transactions. Amounts are in beddows, and times are in whole seconds since the epoch of the network. A
 * transaction also matches if its amount or its timestamp is exactly equal to a given bound (for example, `minAmount`).
 */
export interface TransactionQuery extends PageRequest {
  readonly id?: TransactionId;
  readonly blockId?: BlockId;
  readonly height?: number;
  readonly type?: number;
  readonly senderId?: Address;
  readonly recipientId?: Address;
  /**
   * Address of the sender or of the recipient. A transaction matches if this address is the sender and `recipientId`
   * (if given) matches. A transaction also matches if this address is the recipient and `senderId` (if given) matches.
   */
  readonly senderIdOrRecipientId?: Address;
  readonly senderPublicKey?: PublicKey;
  /** Public key of the recipient's account. */
  readonly recipientPublicKey?: PublicKey;
  readonly minAmount?: bigint;
  readonly maxAmount?: bigint;
  readonly fromTimestampS?: number;
  readonly toTimestampS?: number;
  /**
   * Pattern for the data of a transfer, in the form of SQL LIKE. The store matches the pattern against the UTF-8 bytes
   * of the data, so `_` stands for one byte.
   */
  readonly dataPattern?: string;
  readonly sort: Sort<TransactionSort>;
}

export interface TransactionEntry {
  readonly transaction: Transaction;
  readonly blockId: BlockId;
  readonly height: number;
  /** Public key of the recipient's account; undefined if this key is unknown. */
  readonly recipientPublicKey?: PublicKey;
  /** Second public key of the sender's account, if the account has a second key. */
  readonly senderSecondPublicKey?: PublicKey;
}

export interface DappQuery extends PageRequest {
  /**
   * Id of the transaction that registered the application. If `transactionId` and `name` are both given, an application
   * needs to match only one of the two values.
   */
  readonly transactionId?: TransactionId;
  /** The complete name of the application. */
  readonly name?: string;
  readonly sort: Sort<'name'>;
}

/** Selects an account that has all given values. */
export interface AccountIdentity {
  readonly address?: Address;
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  readonly username?: string;
}

export interface VoterQuery extends PageRequest {
  readonly sort: Sort<'publicKey' | 'balance' | 'username'>;
}

export interface VoteQuery extends PageRequest {
  readonly sort: Sort<'username' | 'balance'>;
}

/**
 * A multisignature account with its members. The members are in ascending order of their balances. Members with equal
 * balances are in the order of their addresses.
 */
export interface GroupEntry {
  readonly account: Account;
  readonly members: readonly Account[];
}

/** The earnings of a delegate in a period. */
export interface ForgingStatistics {
  readonly feesBeddows: bigint;
  readonly rewardsBeddows: bigint;
  readonly blocks: number;
}

export interface ChainQueries {
  /** The tip of the chain; undefined while the store is empty. */
  tip(): BlockHeader | undefined;
  /** Returns the newest headers, highest first. The result contains at most `limit` headers. */
  latestHeaders(limit: number): readonly BlockHeader[];
  blockByHeight(height: number): Block | undefined;
  accounts(query: AccountQuery): Page<AccountEntry>;
  delegates(query: DelegateQuery): Page<DelegateEntry>;
  /**
   * Finds the blocks that match a query. If no index answers the query, and the query has many candidates (blocks to
   * examine), the query runs in chunks. Such a query can fail with `QUERIES_BUSY`; the comment of `transactions`
   * describes chunks and this error.
   */
  blocks(query: BlockQuery): Promise<Page<BlockHeader>>;
  /**
   * Finds the transactions that match a query. If no index answers the query, and the query has many candidates
   * (transactions to examine), the query runs in chunks (parts of the work). Other work can run between two chunks.
   *
   * @throws ProtocolError `QUERIES_BUSY` if the query must run in chunks, but 16 other queries that run in chunks are
   *   already running or waiting
   */
  transactions(query: TransactionQuery): Promise<Page<TransactionEntry>>;
  /**
   * Returns the account that has all values given in `identity`; undefined if no account has all of these values, or if
   * `identity` has no value. If several accounts have the values, the result is the account with the lowest balance. If
   * several of these accounts have the lowest balance, the result is the account whose address comes first in the order
   * of the addresses.
   */
  accountBy(identity: AccountIdentity): Account | undefined;
  /**
   * Finds the voters of a delegate; the page is empty if `publicKey` is undefined or malformed. If no index answers the
   * query and the delegate has many voters, the query runs in chunks. Such a query can fail with `QUERIES_BUSY`; the
   * comment of `transactions` describes chunks and this error.
   */
  voters(publicKey: PublicKey | undefined, query: VoterQuery): Promise<Page<Account>>;
  votes(account: Account, query: VoteQuery): Page<Account>;
  /**
   * Returns the account with this address and the members of the account. The result is undefined if the account is not
   * a multisignature account.
   */
  group(address: Address): GroupEntry | undefined;
  /**
   * Returns the multisignature accounts that have `account` as a member, in ascending order of their balances. Accounts
   * with equal balances are in the order of their addresses.
   */
  memberships(account: Account): readonly GroupEntry[];
  /** Number of transactions in the chain, including the transactions of the genesis block. */
  transactionCount(): number;
  /** Finds the transactions that registered applications and match a query. */
  dapps(query: DappQuery): Page<TransactionEntry>;
  /**
   * Returns the earnings of a delegate from the blocks that the delegate forged in the period. The period includes both
   * timestamps.
   */
  blockForgingStatistics(publicKey: PublicKey, fromTimestampS: number, toTimestampS: number): ForgingStatistics;
  /**
   * Returns the earnings of a delegate from the rounds whose last block is in the period. The period includes both
   * timestamps. The member `blocks` of the result counts the blocks that the delegate forged in these rounds. The query
   * must compute the payments of each of these rounds in which the delegate forged. The query therefore runs in chunks,
   * and can fail with `QUERIES_BUSY` (see `transactions`).
   */
  roundForgingStatistics(
    publicKey: PublicKey,
    fromTimestampS: number,
    toTimestampS: number,
  ): Promise<ForgingStatistics>;
}
