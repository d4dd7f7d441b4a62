/**
 * Queries of readers over the chain, answered in pages. Filters join by AND. Each page has the exact number of all matches. The
 * store implements the queries; formats and defaults belong to `http`.
 */

import type { Account, Delegate } from '../protocol/state.ts';
import type { Address, Block, BlockHeader, BlockId, PublicKey, Transaction, TransactionId } from '../protocol/types.ts';

export interface PageRequest {
  /** At least 1. */
  readonly limit: number;
  /** From 0. */
  readonly offset: number;
  /**
   * The page begins after this place of the list instead of at `offset`, even if the item at the place is gone. So pages that
   * follow one another neither repeat nor leave out an item that was in the list all the time. A cursor of another list is
   * refused with a ProtocolError `CURSOR_INVALID`, or leads to any place.
   */
  readonly after?: Cursor;
}

/** A place in a sorted list. */
export interface Cursor {
  /** The value that the list is sorted by, as text; empty for an unknown value. */
  readonly value: string;
  /** The order among equal values. */
  readonly tie: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of all matches, not only of this page. */
  readonly total: number;
  /** The place of the last item; absent when nothing follows it. */
  readonly next?: Cursor;
}

export type Direction = 'asc' | 'desc';

export interface Sort<Field extends string> {
  readonly field: Field;
  readonly direction: Direction;
}

/** An account, with its delegate data if it is a delegate. */
export interface AccountEntry {
  readonly account: Account;
  readonly delegate?: DelegateEntry;
}

/** A delegate with the values that are derived for readers. */
export interface DelegateEntry {
  readonly delegate: Delegate;
  readonly account: Account;
  /** 1 is best; null for a generation 2 delegate registered since the last round end. */
  readonly rank: number | null;
  /** Percent of produced slots, two decimals; 0 before the first. */
  readonly productivity: number;
  /** Percent of the supply that votes for it, two decimals. */
  readonly approval: number;
}

export interface AccountQuery extends PageRequest {
  readonly address?: Address;
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  /** Pattern with `_` for any one character. */
  readonly usernamePattern?: string;
  readonly sort: Sort<'balance'>;
}

export interface DelegateQuery extends PageRequest {
  readonly address?: Address;
  readonly publicKey?: PublicKey;
  readonly secondPublicKey?: PublicKey;
  readonly username?: string;
  /** Pattern of SQL LIKE, already with its wildcards. */
  readonly usernamePattern?: string;
  readonly sort: Sort<'username' | 'rank' | 'voteWeight' | 'productivity' | 'missedBlocks' | 'producedBlocks'>;
}

/** Orders of blocks other than that of the chain. */
export type BlockAmountSort = 'totalAmount' | 'totalFee';

/** Times are whole seconds since the epoch, bounds inclusive. */
export interface BlockQuery extends PageRequest {
  readonly blockId?: BlockId;
  readonly height?: number;
  readonly fromTimestampS?: number;
  readonly toTimestampS?: number;
  readonly generatorPublicKey?: PublicKey;
  readonly sort: Sort<'height' | 'timestamp' | BlockAmountSort>;
}

/** Orders of transactions; each has a row in the store's table of orders (`store/tables/layout.ts`). */
export const TRANSACTION_SORTS = ['amount', 'fee', 'type', 'timestamp'] as const;
export type TransactionSort = (typeof TRANSACTION_SORTS)[number];

export interface TransactionQuery extends PageRequest {
  readonly id?: TransactionId;
  readonly blockId?: BlockId;
  readonly height?: number;
  readonly type?: number;
  readonly senderId?: Address;
  readonly recipientId?: Address;
  readonly senderIdOrRecipientId?: Address;
  readonly senderPublicKey?: PublicKey;
  /** Generation 2: key of the recipient's account. */
  readonly recipientPublicKey?: PublicKey;
  readonly minAmount?: bigint;
  readonly maxAmount?: bigint;
  readonly fromTimestampS?: number;
  readonly toTimestampS?: number;
  /** Pattern of SQL LIKE over the UTF-8 bytes of the transfer data. */
  readonly dataPattern?: string;
  readonly sort: Sort<TransactionSort>;
}

export interface TransactionEntry {
  readonly transaction: Transaction;
  readonly blockId: BlockId;
  readonly height: number;
  /** Public key of the recipient's account, undefined when unknown. */
  readonly recipientPublicKey?: PublicKey;
  /** Second public key of the sender's account, if it has one. */
  readonly senderSecondPublicKey?: PublicKey;
}

export interface DappQuery extends PageRequest {
  /** The two join by OR. */
  readonly transactionId?: TransactionId;
  /** The whole name. */
  readonly name?: string;
  readonly sort: Sort<'name'>;
}

/** Selects an account; the given members join by AND. */
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

/** A multisignature account and its members, by balance then address. */
export interface GroupEntry {
  readonly account: Account;
  readonly members: readonly Account[];
}

/** The earnings of a delegate within a time span. */
export interface ForgingStatistics {
  readonly feesBeddows: bigint;
  readonly rewardsBeddows: bigint;
  readonly blocks: number;
}

export interface ChainQueries {
  /** Undefined while the store is empty. */
  tip(): BlockHeader | undefined;
  /** Best first, at most `limit`. */
  latestHeaders(limit: number): readonly BlockHeader[];
  blockByHeight(height: number): Block | undefined;
  accounts(query: AccountQuery): Page<AccountEntry>;
  delegates(query: DelegateQuery): Page<DelegateEntry>;
  /** As `transactions`. */
  blocks(query: BlockQuery): Promise<Page<BlockHeader>>;
  /**
   * A query that no index answers runs in chunks, between which other work goes on.
   *
   * @throws ProtocolError `QUERIES_BUSY` when too many such queries wait already
   */
  transactions(query: TransactionQuery): Promise<Page<TransactionEntry>>;
  /** The account that fits; if several fit, the first by balance, then address. */
  accountBy(identity: AccountIdentity): Account | undefined;
  /** As `transactions`. */
  voters(publicKey: PublicKey | undefined, query: VoterQuery): Promise<Page<Account>>;
  votes(account: Account, query: VoteQuery): Page<Account>;
  /** The group owned by the account, if it is one. */
  group(address: Address): GroupEntry | undefined;
  /** Groups that contain the account's key, by balance then address. */
  memberships(account: Account): readonly GroupEntry[];
  /** Transactions of the chain, genesis included. */
  transactionCount(): number;
  /** Registrations of applications. */
  dapps(query: DappQuery): Page<TransactionEntry>;
  /** Earnings from the blocks that the delegate forged in the span, bounds included. */
  blockForgingStatistics(publicKey: PublicKey, fromTimestampS: number, toTimestampS: number): ForgingStatistics;
  /**
   * Earnings from the rounds whose last block is in the span, bounds included; `blocks` counts the rounds. Runs in chunks like
   * `transactions`, as the pay of each round is computed anew.
   */
  roundForgingStatistics(
    publicKey: PublicKey,
    fromTimestampS: number,
    toTimestampS: number,
  ): Promise<ForgingStatistics>;
}
