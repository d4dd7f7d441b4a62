/** Every consensus constant, with its unit and source. What differs per network is data in `networks/<name>`. */

import type { Address, BlockId, Signature, TransactionId } from './types.ts';

export type Generation = 2 | 3;

/**
 * Delegates of a round on every network of the family, and the most that any network may have. The rules of a network go by
 * its own `ChainParams.activeDelegates`.
 */
export const ACTIVE_DELEGATES = 101;
/** Largest declared payload of a block, in bytes. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
/** Votes that one account may hold. */
export const VOTES_PER_ACCOUNT_MAX = 101;
/** Supply that the genesis block hands out, in beddows. */
export const GENESIS_SUPPLY = 10_000_000_000_000_000n;

/** Fees in beddows, equal in both generations. */
export const FEES = {
  transfer: 10_000_000n,
  secondSignature: 500_000_000n,
  delegate: 2_500_000_000n,
  vote: 100_000_000n,
  /** Times the size of the keysgroup plus one. */
  multisignaturePerKey: 500_000_000n,
  dapp: 2_500_000_000n,
  inTransfer: 10_000_000n,
  outTransfer: 10_000_000n,
} as const;

/** Block rewards in beddows: nothing below `offset`, then a milestone for each `distance` blocks. */
export interface RewardParams {
  readonly milestones: readonly bigint[];
  readonly offset: number;
  readonly distance: number;
}

/** Inclusive heights. */
export interface HeightRange {
  readonly start: number;
  readonly end: number;
}

/** Known deviations of a live network, by kind. Empty on devnets. */
export interface Exceptions {
  readonly senderPublicKey: ReadonlySet<TransactionId>;
  readonly signatures: ReadonlySet<TransactionId>;
  readonly signSignature: ReadonlySet<TransactionId>;
  readonly votes: ReadonlySet<TransactionId>;
  readonly transactionWithNullByte: ReadonlySet<TransactionId>;
  readonly multisignatures: ReadonlySet<TransactionId>;
  readonly recipientLeadingZero: ReadonlyMap<TransactionId, Address>;
  readonly recipientExceedingUint64: ReadonlyMap<TransactionId, Address>;
  readonly duplicatedSignatures: ReadonlyMap<TransactionId, readonly Signature[]>;
  readonly inertTransactions: ReadonlySet<TransactionId>;
  readonly roundVotes: ReadonlySet<TransactionId>;
  readonly blockRewards: ReadonlySet<BlockId>;
  /** Block version to the heights that carry it; a height in no range has the generation's own version. */
  readonly blockVersions: ReadonlyMap<number, HeightRange>;
  readonly rounds: ReadonlyMap<
    number,
    { readonly rewardsFactor: number; readonly feesFactor: number; readonly feesBonus: bigint }
  >;
  readonly ignoreDelegateListCacheForRounds: ReadonlySet<number>;
  readonly precedent: {
    readonly disableDappTransfer: number;
    readonly disableDappTransaction: number;
    readonly disableV1Transactions: number;
  };
}

/** What all nodes of a network must agree on. */
export interface ChainParams {
  readonly generation: Generation;
  /** Unix time of the network's epoch, in milliseconds. */
  readonly epochMs: number;
  /** Length of a slot, in seconds; at least 2. */
  readonly blockTimeS: number;
  /**
   * Delegates of a round, and so blocks of a round and the modulus of a slot's owner, even if fewer are registered; from 1
   * to `ACTIVE_DELEGATES`.
   */
  readonly activeDelegates: number;
  readonly transactionsPerBlockMax: number;
  readonly rewards: RewardParams;
  /** Generation 3: a round uses the list frozen this many rounds earlier; 0 in generation 2. */
  readonly delegateListRoundOffset: number;
  readonly genesisBlockId: BlockId;
  /** Payload hash of the genesis block, hexadecimal: generation 2's network identity. */
  readonly nethash: string;
  readonly communityIdentifier: string;
  /** SHA-256 of the text nethash followed by communityIdentifier, hexadecimal: generation 3's network identity. */
  readonly networkIdentifier: string;
  readonly exceptions: Exceptions;
}

/** No deviation at all: what a devnet has. */
export const NO_EXCEPTIONS: Exceptions = {
  senderPublicKey: new Set(),
  signatures: new Set(),
  signSignature: new Set(),
  votes: new Set(),
  transactionWithNullByte: new Set(),
  multisignatures: new Set(),
  recipientLeadingZero: new Map(),
  recipientExceedingUint64: new Map(),
  duplicatedSignatures: new Map(),
  inertTransactions: new Set(),
  roundVotes: new Set(),
  blockRewards: new Set(),
  blockVersions: new Map(),
  rounds: new Map(),
  ignoreDelegateListCacheForRounds: new Set(),
  precedent: { disableDappTransfer: 0, disableDappTransaction: 0, disableV1Transactions: 0 },
};
