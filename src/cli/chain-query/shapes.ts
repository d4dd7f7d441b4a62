/**
 * Defines the shapes of Lisk nodes' answers about blocks, transactions, accounts and delegates. The shapes contain the
 * members that commands read.
 */

import { balance, listOf, members, optional, text, uint32, type Shape } from '../answer-shapes.ts';

export interface BlockJson {
  readonly id: string;
  readonly height: number;
  /** Time of the block, in seconds since the epoch of the network. */
  readonly timestamp: number;
  readonly generatorPublicKey: string;
  readonly numberOfTransactions: number;
  /** Decimal digits of an amount in beddows, like all amounts in this file. */
  readonly totalAmount: string;
  readonly totalFee: string;
  readonly reward: string;
  readonly confirmations?: number;
  readonly previousBlockId?: string | null;
}

export interface TransactionJson {
  readonly id: string;
  readonly type: number;
  readonly senderId: string;
  readonly fee: string;
  /** A lisk-sdk node of generation 3 sends the amount and the recipient only in `asset`. */
  readonly amount?: string;
  readonly recipientId?: string | null;
  readonly asset?: unknown;
  readonly signatures?: readonly string[];
  /** Height of the block that contains the transaction; absent if no block contains the transaction. */
  readonly height?: number;
  readonly blockId?: string;
  readonly confirmations?: number;
  readonly timestamp?: number;
}

export interface DelegateJson {
  readonly username: string;
  /**
   * Null for a delegate of generation 2 before the end of the round in which the delegate registered. A lisk-sdk node
   * of generation 3 sends no rank.
   */
  readonly rank?: number | null;
  /**
   * Weight of the votes in beddows, under the name that nodes of generation 2 use. A Bloomery node sends the weight
   * under both names, `vote` and `voteWeight`.
   */
  readonly vote?: string;
  /** The same weight as `vote`, under the name that nodes of generation 3 use. */
  readonly voteWeight?: string;
  readonly producedBlocks: number;
  readonly missedBlocks: number;
  /** `producedBlocks` as a percentage of the sum of `producedBlocks` and `missedBlocks`, from 0 to 100. */
  readonly productivity: number;
  readonly account: { readonly address: string };
}

/** Returns the weight of the votes for a delegate, as decimal digits in beddows; 0 if the node sent no weight. */
export function votesOf({ vote, voteWeight }: Pick<DelegateJson, 'vote' | 'voteWeight'>): string {
  return vote ?? voteWeight ?? '0';
}

export interface AccountJson {
  readonly address: string;
  /** Empty or null before the account has sent a transaction. */
  readonly publicKey?: string | null;
  /** Decimal digits, with a minus sign for the account that forged the genesis block. */
  readonly balance: string;
  readonly secondPublicKey?: string | null;
  readonly delegate?: Omit<DelegateJson, 'account'> | null;
}

export interface GroupJson {
  /** Number of members who must sign. */
  readonly min: number;
  readonly members: readonly { readonly address: string; readonly publicKey: string }[];
}

// The patterns are strict, because commands put ids, addresses and public keys into the URLs of further requests.
const id: Shape = matching(/^[0-9]{1,20}$/, 'an id');
const address: Shape = matching(/^[0-9]{1,21}L$/, 'an address');
const publicKey: Shape = matching(/^[0-9a-f]{64}$/, 'a public key');

function matching(pattern: RegExp, expected: string): Shape {
  return (value) => (typeof value === 'string' && pattern.test(value) ? undefined : ` must be ${expected}`);
}

const amount: Shape = (value) =>
  typeof value === 'string' && /^[0-9]{1,30}$/.test(value) ? undefined : ' must be a string of digits';
const percent: Shape = (value) => (Number.isFinite(value) ? undefined : ' must be a number');
const textOrNothing: Shape = (value) => (value === null ? undefined : optional(text)(value));

const rankOrNothing: Shape = (value) => (value === null ? undefined : optional(uint32)(value));

const DELEGATE = {
  username: text,
  rank: rankOrNothing,
  vote: optional(amount),
  voteWeight: optional(amount),
  producedBlocks: uint32,
  missedBlocks: uint32,
  productivity: percent,
};

export const BLOCKS = listOf(
  members({
    id,
    height: uint32,
    timestamp: uint32,
    generatorPublicKey: publicKey,
    numberOfTransactions: uint32,
    totalAmount: amount,
    totalFee: amount,
    reward: amount,
    confirmations: optional(uint32),
    previousBlockId: textOrNothing,
  }),
);

const TRANSACTION = {
  id,
  type: uint32,
  senderId: text,
  fee: amount,
  amount: optional(amount),
  recipientId: textOrNothing,
  signatures: optional(listOf(text)),
  timestamp: optional(uint32),
  confirmations: optional(uint32),
};

export const POOLED_TRANSACTIONS = listOf(members(TRANSACTION));
export const TRANSACTIONS = listOf(members({ ...TRANSACTION, height: uint32, blockId: text }));

export const DELEGATES = listOf(members({ ...DELEGATE, account: members({ address }) }));

const nothing: Shape = (value) => (value === null || value === undefined ? undefined : members(DELEGATE)(value));
export const ACCOUNTS = listOf(
  members({
    address,
    publicKey: textOrNothing,
    balance,
    secondPublicKey: textOrNothing,
    delegate: nothing,
  }),
);

/**
 * The public key of a group member can have capital letters. In all other respects, the shape is strict, because a
 * command decodes such keys to check signatures.
 */
const memberKey: Shape = matching(/^[0-9a-f]{64}$/i, 'a public key');
export const GROUPS = listOf(members({ min: uint32, members: listOf(members({ address, publicKey: memberKey })) }));
