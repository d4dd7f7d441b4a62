/**
 * Defines consensus constants that are equal on all networks, and the type of the parameters that differ between
 * networks. The node reads the values of these parameters from the network folder, for example `networks/devnet`.
 */

import type { Address, BlockId, Signature, TransactionId } from './types.ts';

export type Generation = 2 | 3;

/**
 * Number of delegates in a round on all public networks, and the maximum for any network. The consensus rules do not
 * use this constant; they use the network parameter `activeDelegates`.
 */
export const ACTIVE_DELEGATES = 101;
/** Maximum value that a block header is allowed to state as the length of the payload, in bytes. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
/** Maximum number of delegates for which one account can vote at the same time. */
export const VOTES_PER_ACCOUNT_MAX = 101;
/** The supply, in beddows, that the genesis block pays out. */
export const GENESIS_SUPPLY = 10_000_000_000_000_000n;

/**
 * Fees in beddows. If a transaction type exists in both generations, the fee of this type is the same in both
 * generations.
 */
export const FEES = {
  transfer: 10_000_000n,
  secondSignature: 500_000_000n,
  delegate: 2_500_000_000n,
  vote: 100_000_000n,
  /** The fee for registering a multisignature account with n member keys is n + 1 times this amount. */
  multisignaturePerKey: 500_000_000n,
  dapp: 2_500_000_000n,
  inTransfer: 10_000_000n,
  outTransfer: 10_000_000n,
} as const;

/**
 * Block rewards in beddows. Blocks below height `offset` have no reward. Each milestone is a reward. From `offset` on,
 * the first `distance` blocks have the first milestone as their reward, the next `distance` blocks have the second
 * milestone, and so on. All blocks after that have the last milestone.
 */
export interface RewardParams {
  readonly milestones: readonly bigint[];
  readonly offset: number;
  readonly distance: number;
}

/** A range of heights, both ends included. */
export interface HeightRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The exceptions of a live network: its known rounds, blocks and transactions that deviate from the rules. Each member
 * of this interface is one kind of exception, and has the name that the configuration of lisk-sdk uses for this kind. A
 * network without the file `exceptions.json` has no exceptions.
 */
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
  /**
   * For each older block version, the range of heights whose blocks have this version. Blocks at all other heights have
   * the block version of the network's generation.
   */
  readonly blockVersions: ReadonlyMap<number, HeightRange>;
  /**
   * Changes of the rewards and fees of single rounds. For each listed round, the value contains two factors, one for
   * the rewards and one for the total fee of the round. The value also contains a bonus in beddows. The node first
   * multiplies the total fee by its factor, and then adds the bonus to the product.
   */
  readonly rounds: ReadonlyMap<
    number,
    { readonly rewardsFactor: number; readonly feesFactor: number; readonly feesBonus: bigint }
  >;
  readonly ignoreDelegateListCacheForRounds: ReadonlySet<number>;
  /**
   * For each group of old transaction types, contains the first height at which blocks are no longer allowed to contain
   * these types. The height is 0 if only the genesis block is allowed to contain these types. Generation 2 ignores
   * `disableV1Transactions`.
   */
  readonly precedent: {
    readonly disableDappTransfer: number;
    readonly disableDappTransaction: number;
    readonly disableV1Transactions: number;
  };
}

/** Parameters that must be equal on all nodes of a network. */
export interface ChainParams {
  readonly generation: Generation;
  /** Unix time of the network's epoch, in milliseconds. */
  readonly epochMs: number;
  /** Length of a slot in seconds; at least 2. */
  readonly blockTimeS: number;
  /**
   * Number of delegates in a round, from 1 to `ACTIVE_DELEGATES`. A round always has this number of blocks. If fewer
   * delegates are registered, some slots of the round have no owner (`ownerOfSlot`).
   */
  readonly activeDelegates: number;
  readonly transactionsPerBlockMax: number;
  readonly rewards: RewardParams;
  /**
   * Generation 3: number of rounds between storing a delegate list (`rounds.ts`) and forging with the list; 0 in
   * generation 2.
   */
  readonly delegateListRoundOffset: number;
  readonly genesisBlockId: BlockId;
  /** Payload hash of the genesis block, hexadecimal. In generation 2, the nethash identifies the network. */
  readonly nethash: string;
  readonly communityIdentifier: string;
  /**
   * SHA-256, in hexadecimal, of the text `nethash + communityIdentifier`. In generation 3, this value identifies the
   * network.
   */
  readonly networkIdentifier: string;
  readonly exceptions: Exceptions;
}

/** The exceptions of a network without the file `exceptions.json`. */
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
