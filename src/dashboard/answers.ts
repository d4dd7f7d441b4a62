/** The members of the HTTP interface's answers that the dashboard reads. Both generations send all of them unless marked. */

export interface Status {
  readonly height: number;
  readonly chainMaxHeightFinalized: number;
  readonly networkHeight: number;
  readonly consensus: number;
  readonly syncing: boolean;
  readonly secondsSinceEpoch: number;
  /** Unix time in milliseconds. */
  readonly currentTime: number;
  readonly transactions: {
    readonly confirmed: number;
    readonly ready: number;
    readonly verified: number;
    readonly pending: number;
    readonly validated: number;
    readonly received: number;
  };
  /** Told when the node has no peers and is short of none. */
  readonly isAlone?: true;
  /** Processes that answer HTTP beside the node; absent where it answers itself. */
  readonly readers?: {
    readonly wanted: number;
    readonly restarts: number;
    readonly each: readonly Reader[];
  };
  readonly syncProgress?: { readonly targetHeight: number; readonly blocksPerS: number; readonly secondsLeft?: number };
  /** Absent while there were none since the node started. */
  readonly branchChanges?: { readonly count: number; readonly latest: readonly BranchChange[] };
}

/** A process that answers HTTP beside the node. */
export interface Reader {
  readonly reader: number;
  readonly state: 'starting' | 'up' | 'silent';
  /** ISO 8601. */
  readonly since: string;
  readonly memoryBytes: number;
  readonly requests: number;
}

/** Blocks that were reverted as one unit. */
export interface BranchChange {
  /** ISO 8601. */
  readonly time: string;
  /** Height of the last block that stayed. */
  readonly commonHeight: number;
  readonly revertedBlocks: number;
}

export interface Constants {
  readonly version: string;
  readonly build: string;
  readonly protocolVersion: string;
  /** Delegates of a round, told when they are not 101. */
  readonly activeDelegates?: number;
  readonly nethash: string;
  /** Of the network; absent from nodes that do not tell it. */
  readonly networkName?: string;
  /** ISO 8601. */
  readonly epoch: string;
  readonly supply: string;
  readonly reward: string;
}

/** Amounts are beddows as text, times whole seconds since the epoch. */
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
  /** Generation 3. */
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
  /** Of members of a group. */
  readonly signatures?: readonly string[];
  readonly recipientId?: string;
  readonly asset: Readonly<Record<string, unknown>>;
  /** Absent in the pool. */
  readonly height?: number;
  readonly blockId?: string;
  readonly confirmations?: number;
}

/** Members of a group, and which of them have signed a transaction that waits. */
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

/** Earnings of a delegate; beddows as text. */
export interface Earnings {
  readonly fees: string;
  readonly rewards: string;
  readonly forged: string;
  /** Blocks. */
  readonly count: string;
}

export interface Account {
  readonly address: string;
  readonly publicKey: string;
  readonly balance: string;
  readonly secondPublicKey: string;
  readonly delegate?: Omit<Delegate, 'account'>;
}

/** An account that several people sign for. */
export interface Group {
  readonly address: string;
  readonly balance: string;
  readonly min: number;
  readonly members: readonly { readonly address: string; readonly publicKey: string }[];
}

/** The verdict of the node on an address; times are ISO 8601. */
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
  /** A word in generation 3, a number in generation 2. */
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
  /** Why a delegate that is switched on does not sign yet, and until when as far as that is known (ISO 8601). */
  readonly waiting?: { readonly code: string; readonly reason: string; readonly until?: string };
  /** Why this node forges for nobody at present, and since when (ISO 8601). */
  readonly paused?: { readonly reason: string; readonly since: string };
}

export interface Votes {
  readonly votesUsed: number;
  readonly votes: readonly { readonly username: string }[];
}

export interface Voters {
  /** How many accounts vote for the delegate. */
  readonly votes: number;
  readonly voters: readonly { readonly address: string; readonly balance: string }[];
}

/** The last hour or day of the node. */
export interface History {
  /** Length of a point, in seconds. */
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
  /** Absent without blocks that were new. */
  readonly delayMs?: number;
  readonly pool: number;
  readonly peers: number;
}

export interface Diagnostic {
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly module: string;
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** Whether a connection to the peer stands. */
export function isConnected({ state }: Peer): boolean {
  return state === 'connected' || state === 2;
}

/** Whether blocks of the network become final: those of generation 2 never do. */
export function hasFinality({ protocolVersion }: Pick<Constants, 'protocolVersion'>): boolean {
  return !protocolVersion.startsWith('1.');
}
