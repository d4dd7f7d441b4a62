/**
 * Types of the answers of the HTTP interface, with only the members that the dashboard reads. Nodes of both generations
 * send all of these members, unless a comment states otherwise. An optional member is absent if its value does not
 * apply or is unknown.
 */

export interface Status {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
  readonly networkHeight: number;
  readonly consensus: number;
  readonly syncing: boolean;
  readonly secondsSinceEpoch: number;
  /** Time of the node's clock, as Unix time in milliseconds. */
  readonly currentTime: number;
  readonly transactions: {
    readonly confirmed: number;
    readonly ready: number;
    readonly verified: number;
    readonly pending: number;
    readonly validated: number;
    readonly received: number;
  };
  /**
   * True if the node has no peers and needs no peers; otherwise absent. The node needs no peers if its configuration
   * allows no peers. The node also needs no peers if two conditions hold. First, the configuration names no other node
   * as a fixed or seed peer. Second, all delegates of the round to which the next block belongs forge on this node.
   */
  readonly isAlone?: true;
  /** The reading processes of the node; absent if the main process answers HTTP requests itself. */
  readonly readers?: {
    readonly wanted: number;
    readonly restarts: number;
    readonly each: readonly Reader[];
  };
  readonly syncProgress?: { readonly targetHeight: number; readonly blocksPerS: number; readonly secondsLeft?: number };
  /** Reorgs since the start of the node; absent if no reorg has happened. */
  readonly reorgs?: { readonly count: number; readonly latest: readonly Reorg[] };
}

/** A reading process: it answers HTTP requests, and is separate from the node's main process. */
export interface Reader {
  readonly reader: number;
  readonly state: 'starting' | 'up' | 'silent';
  /** Time at which the node started this reading process, ISO 8601. */
  readonly since: string;
  readonly memoryBytes: number;
  readonly requests: number;
}

/** A reorg: a change of the chain in which the node reverted blocks. */
export interface Reorg {
  /** Time of the reorg, ISO 8601. */
  readonly time: string;
  /** Height of the common block: the parent of the lowest reverted block. */
  readonly commonHeight: number;
  readonly revertedBlocks: number;
}

export interface Constants {
  readonly version: string;
  readonly build: string;
  readonly protocolVersion: string;
  /** Number of delegates of a round; absent if the number is 101. */
  readonly activeDelegates?: number;
  readonly nethash: string;
  /** Name of the network; absent in the answers of older versions of the node. */
  readonly networkName?: string;
  /** The moment from which the network counts its timestamps, ISO 8601. */
  readonly epoch: string;
  /** Length of a slot in seconds. */
  readonly blockTime: number;
  readonly supply: string;
  readonly reward: string;
}

/**
 * A block. In all answers of this file, an amount is a string of decimal digits, in beddows. A timestamp is in whole
 * seconds since the epoch of the network.
 */
export interface Block {
  readonly id: string;
  readonly version: number;
  readonly timestamp: number;
  readonly height: number;
  readonly previousBlockId: string;
  readonly numberOfTransactions: number;
  readonly totalAmount: string;
  readonly totalFee: string;
  readonly reward: string;
  readonly payloadLength: number;
  readonly payloadHash: string;
  readonly generatorPublicKey: string;
  readonly generatorAddress: string;
  readonly blockSignature: string;
  readonly confirmations: number;
  readonly totalForged: string;
  /** Only nodes of generation 3 send this member and `maxHeightPreviouslyForged`. */
  readonly maxHeightPrevoted?: number;
  readonly maxHeightPreviouslyForged?: number;
}

export interface Transaction {
  readonly id: string;
  readonly type: number;
  readonly timestamp: number;
  readonly senderId: string;
  readonly senderPublicKey: string;
  readonly fee: string;
  readonly amount: string;
  readonly signature: string;
  /** Signatures of the members of the multisignature group, if the transaction has such signatures. */
  readonly signatures?: readonly string[];
  readonly recipientId?: string;
  readonly asset: Readonly<Record<string, unknown>>;
  /** Height of the block. A transaction in the pool has no `height`, `blockId` or `confirmations`. */
  readonly height?: number;
  readonly blockId?: string;
  readonly confirmations?: number;
}

/**
 * The group members who can sign a transaction that waits in the pool. `hasSigned` is true for a member that has signed
 * the transaction, and `min` is the number of member signatures that the transaction needs.
 */
export interface Signers {
  readonly min: number;
  readonly signed: number;
  readonly members: readonly { readonly address: string; readonly publicKey: string; readonly hasSigned: boolean }[];
}

export interface Delegate {
  readonly username: string;
  readonly voteWeight: string;
  readonly rewards: string;
  readonly producedBlocks: number;
  readonly missedBlocks: number;
  readonly productivity: number;
  readonly approval: number;
  readonly rank: number | null;
  readonly account: { readonly address: string; readonly publicKey: string };
}

/** Earnings of a delegate from its forged blocks: the fees, the rewards, and the sum of fees and rewards (`forged`). */
export interface Earnings {
  readonly fees: string;
  readonly rewards: string;
  readonly forged: string;
  /** Number of forged blocks. */
  readonly count: string;
}

export interface Account {
  readonly address: string;
  readonly publicKey: string;
  readonly balance: string;
  readonly secondPublicKey: string;
  readonly delegate?: Omit<Delegate, 'account'>;
}

/** A multisignature account. */
export interface Group {
  readonly address: string;
  readonly balance: string;
  readonly min: number;
  readonly members: readonly { readonly address: string; readonly publicKey: string }[];
}

/**
 * The state of the node's connection to one peer address (`verdict`), and the reason for this state. Times are ISO
 * 8601.
 */
export interface PeerVerdict {
  readonly ip: string;
  readonly wsPort?: number;
  readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
  readonly direction?: 'inbound' | 'outbound';
  readonly since?: string;
  readonly until?: string;
  readonly reason?: string;
  readonly roles: readonly string[];
  readonly reputation: number;
  readonly height?: number;
  readonly version?: string;
  readonly latencyMs?: number;
}

export interface Peer {
  readonly ip: string;
  readonly wsPort: number;
  readonly httpPort?: number;
  readonly height?: number;
  readonly version?: string;
  /** The state is a word in generation 3 and a number in generation 2. */
  readonly state: 'connected' | 'disconnected' | number;
  readonly broadhash?: string;
}

export interface Forger {
  readonly username: string;
  readonly address: string;
  readonly publicKey: string;
  readonly nextSlot: number;
}

export interface ForgingDelegate {
  readonly publicKey: string;
  readonly forging: boolean;
  /**
   * The reason why an enabled delegate does not sign blocks yet; absent for a delegate that does not wait. `until` is
   * the expected end of the wait (ISO 8601), if known.
   */
  readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
  /**
   * The reason why this node does not forge at present; absent while forging is not paused. `since` is the time when
   * the pause began (ISO 8601).
   */
  readonly paused?: { readonly reason: string; readonly since: string };
}

export interface Votes {
  readonly votesUsed: number;
  readonly votes: readonly { readonly username: string }[];
}

export interface Voters {
  /** Number of accounts that vote for the delegate. */
  readonly votes: number;
  readonly voters: readonly { readonly address: string; readonly balance: string }[];
}

/** Measurements of the node in the last hour or day. */
export interface History {
  /** Length of the interval that each point covers, in seconds. */
  readonly intervalS: number;
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint {
  /** Start of the interval, ISO 8601. */
  readonly time: string;
  readonly blocks: number;
  readonly transactions: number;
  readonly missedSlots: number;
  readonly reorgs: number;
  /**
   * Mean time in milliseconds from the start of a slot until the node applied the block of the slot. Blocks that
   * the node downloaded in a sync do not count. Absent if no block of the interval counts.
   */
  readonly delayMs?: number;
  /**
   * Number of transactions in the queues `verified`, `pending` and `ready` of the pool. The number is from the last
   * moment in this interval at which the node applied or reverted a block, or at which the history was read.
   */
  readonly pool: number;
  /**
   * Number of connected peers. The number is from the last moment in this interval at which the node applied or
   * reverted a block, or at which the history was read.
   */
  readonly peers: number;
}

export interface Diagnostic {
  readonly number: number;
  /** Time at which the node recorded the diagnostic, ISO 8601. */
  readonly time: string;
  readonly module: string;
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** True while the node is connected to the peer. */
export function isConnected({ state }: Peer): boolean {
  return state === 'connected' || state === 2;
}

/** True if blocks of the network become final, as in generation 3. */
export function hasFinality({ protocolVersion }: Pick<Constants, 'protocolVersion'>): boolean {
  return !protocolVersion.startsWith('1.');
}
