/**
 * Defines the interface to a node. A running node, its reading processes and the view of a stopped node implement the
 * interface. The HTTP module uses only this interface to reach the node.
 */

import type { ChainParams } from '../protocol/params.ts';
import type { Address, Block, JsonObject, KeyPair, PublicKey, Transaction } from '../protocol/types.ts';
import type { TransactionError } from '../protocol/verdict.ts';
import type { ChainLog } from './chain-log.ts';
import type { ChainQueries, Page } from './queries.ts';
import type { SlotReport } from './slot-report.ts';
import type { PeerInfo } from './transport.ts';

/**
 * The queues of the pool, in the order in which a transaction passes them. A transaction that lacks signatures of
 * members of a multisignature account waits in `pending` instead of `verified`.
 */
export type PoolState = 'received' | 'validated' | 'verified' | 'pending' | 'ready';

/** Values that do not change while the process runs. */
export interface NodeIdentity {
  readonly networkName: string;
  /** Version of the application, as the node reports it to peers and clients. */
  readonly version: string;
  readonly protocolVersion: string;
  /** `v` and the version of the package, then the date and time of the build (UTC) if known. Empty only in tests. */
  readonly build: string;
  /** Commit of the source code: 40 hexadecimal characters, or empty. */
  readonly commit: string;
  /** 16 alphanumeric characters, chosen at each start of the process; 16 zeros in the view of a stopped node. */
  readonly nonce: string;
}

export interface NodeStatus {
  readonly height: number;
  readonly finalizedHeight: number;
  readonly syncing: boolean;
  /** Unix time in milliseconds. */
  readonly currentTimeMs: number;
  readonly secondsSinceEpoch: number;
  /**
   * Broadhash of the chain, hexadecimal: SHA-256 of the ids of the last five blocks, highest first. If the chain has
   * only the genesis block, the broadhash is the nethash.
   */
  readonly broadhash: string;
  /**
   * Percentage of the connected peers that have the tip of this node, from 0 to 100, with two significant digits; 0 if
   * no peer counts. At most a hundred peers count. In generation 2, a peer that announces the genesis block as its tip
   * counts only while this node has no other block.
   */
  readonly consensusPercent: number;
  /** Most frequent height that connected peers announce; 0 if no connected peer announces a height. */
  readonly networkHeight: number;
  readonly pool: Readonly<Record<PoolState, number>>;
  /**
   * Time in milliseconds by which the clocks of the peers seem to be ahead of this node's clock; negative if they are
   * behind. Undefined if too few peers have sent blocks recently, or if the node cannot determine which clock is wrong.
   */
  readonly clockOffsetMs?: number;
  /**
   * Present if a peer's clock differs from this node's clock by at least 2 s, and the node cannot determine which of
   * the two clocks is wrong. `offsetMs` is the time by which the peer's clock is ahead.
   */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /** Progress of the current sync, even before its first block; absent if no sync runs or no sync peer is known. */
  readonly sync?: SyncProgress;
  /** True if the node has no peers and needs no peers. */
  readonly isAlone?: true;
  /** Number of reorgs since the start of the node, and the latest reorgs, newest first. */
  readonly reorgs: { readonly count: number; readonly latest: readonly Reorg[] };
  /** The processes that answer HTTP for the node; undefined if the node itself answers. */
  readonly readers?: ReadersStatus;
}

export interface ReadersStatus {
  /** Number of readers that the option `http.processes` asks for. */
  readonly wanted: number;
  /** Number of readers that were started since the start of the node to replace an earlier reader. */
  readonly restarts: number;
  readonly each: readonly ReaderStatus[];
}

export interface ReaderStatus {
  /**
   * Number of the reader. A reader gets the lowest free number, from 1 on, when it starts. If a reader has ended, the
   * reader that replaces it usually gets the same number.
   */
  readonly reader: number;
  /** `silent`: another reader was started to replace this reader, which does not react or uses too much memory. */
  readonly state: 'starting' | 'up' | 'silent';
  /** Time when the reader started; Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Memory of the reader in bytes, without pages of the store; 0 until the reader has answered the first ping. */
  readonly memoryBytes: number;
  /**
   * Number of requests to the reader since its start, including refused requests, as of the last ping that it answered.
   */
  readonly requests: number;
}

/** A reorg: blocks that were reverted together, usually for a better branch. */
export interface Reorg {
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** Height of the last block that was not reverted. */
  readonly commonHeight: number;
  readonly revertedBlocks: number;
}

export interface SyncProgress {
  /** Height that the sync peer announces, or the height of this node if this node is higher. */
  readonly targetHeight: number;
  /** Number of applied blocks per second, measured over about 30 s. */
  readonly blocksPerS: number;
  /** Estimated seconds until the end of the sync; undefined until the node has applied a block of the sync. */
  readonly secondsLeft?: number;
}

export type HistorySpan = 'hour' | 'day';

/** Values of the node over the last hour or day, for charts. */
export interface NodeHistory {
  /** Length of the interval of one point, in milliseconds; 0 in the view of a stopped node, which has no points. */
  readonly intervalMs: number;
  /** Points, oldest first. An interval without an applied or reverted block may have no point. */
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint {
  /** Start of the interval; Unix time in milliseconds. */
  readonly timeMs: number;
  /** Number of blocks that were applied. */
  readonly blocks: number;
  /** Number of transactions in the blocks that were applied. */
  readonly transactions: number;
  /** Number of empty slots between applied blocks. Slots before a downloaded block do not count. */
  readonly missedSlots: number;
  /** Number of times that blocks were reverted. */
  readonly reorgs: number;
  /**
   * Mean time in milliseconds from the start of a slot until its block was applied. Downloaded blocks do not count.
   * Undefined if no block counts.
   */
  readonly delayMs?: number;
  /**
   * Number of transactions in the queues `verified`, `pending` and `ready` of the pool. The number is from the last
   * moment in this interval at which the history changed or was read.
   */
  readonly pool: number;
  /** Number of connected peers at the same moment as `pool`. */
  readonly peers: number;
}

/**
 * A record of an event that may need an explanation, with the reason. Examples are a refused block, a dropped peer and
 * a missed slot.
 */
export interface Diagnostic {
  /** Number of the diagnostic; the first diagnostic after the start has number 1. */
  readonly number: number;
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** The module that reported the event: `chain`, `sync`, `peers`, `forge`, `pool` or `notify`. */
  readonly module: string;
  /** A permanent code, such as `BLOCK_SIGNATURE_INVALID`. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export interface PoolEntry {
  readonly transaction: Transaction;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /** Whether enough members have signed; undefined for an unverified transaction, or if no members must sign. */
  readonly ready?: boolean;
}

/** The members of a multisignature account (a group), with a mark for each member that has signed a transaction. */
export interface GroupSigners {
  /** Number of signatures that the transaction needs. */
  readonly min: number;
  /** The members in the order of the group's registration. */
  readonly members: readonly { readonly publicKey: PublicKey; readonly hasSigned: boolean }[];
}

export interface PeerEntry {
  readonly info: PeerInfo;
  readonly state: 'connected' | 'disconnected';
}

export type PeerRole = 'fixed' | 'seed' | 'whitelisted' | 'blacklisted';

/** The node's verdict on the address of a peer. */
export interface PeerVerdict {
  readonly ip: string;
  /** Port of the peer; absent for a banned address without a known peer. */
  readonly wsPort?: number;
  /**
   * `dropped`: the connection ended, or a dial failed for a lasting reason, and no new connection was opened.
   * `waiting`: the peer is not dialled before `untilMs`. Without `untilMs`, a waiting peer is not dialled until the
   * node restarts, or until a connection that the peer opened has ended. `known`: the node knows the address, and may
   * dial it.
   */
  readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
  readonly direction?: 'inbound' | 'outbound';
  /** Start of the connection; for `dropped`, its end or the time of the failed dial. Unix time in milliseconds. */
  readonly sinceMs?: number;
  /** End of the ban, or end of the wait before the next dial; Unix time in milliseconds. */
  readonly untilMs?: number;
  /** Close code of the dropped connection, or of the last failed dial. */
  readonly code?: number;
  readonly reason?: string;
  /** Roles that the configuration gives to the peer. */
  readonly roles: readonly PeerRole[];
  /** Name of the list in the peer book to which the peer belongs. */
  readonly list?: 'new' | 'tried';
  /**
   * Points of the peer, at first 100. An offence costs points; a peer that the operator named loses points only for
   * `WIRE_OFFENCES`. At 0 points, the node bans the IP address, or only disconnects the peer if the operator named a
   * peer at this address. Then the peer has 100 points again. A banned address without a known peer has 0 points.
   */
  readonly reputation: number;
  readonly height?: number;
  readonly version?: string;
  readonly latencyMs?: number;
}

export interface ForgingDelegate {
  readonly publicKey: PublicKey;
  readonly forging: boolean;
  /** The reason why this delegate does not sign yet although its forging is on. */
  readonly waiting?: ForgingWait;
  /** The reason why this node forges for no delegate at present. */
  readonly paused?: ForgingPause;
}

export interface ForgingPause {
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Code of the fault that causes the pause, such as `STORE_WRITE_FAILED`; absent if no fault causes it. */
  readonly cause?: string;
}

export interface ForgingWait {
  /** A permanent code, such as `FORGING_HAND_OVER`. */
  readonly code: string;
  readonly reason: string;
  /** Expected end of the wait as Unix time in milliseconds; absent if unknown or already past. */
  readonly untilMs?: number;
}

/** Result of submitting a transaction or a signature. */
export type SubmitResult =
  | { readonly accepted: true; readonly transaction: Transaction; readonly receivedAtMs: number }
  | {
      readonly accepted: false;
      readonly code: string;
      readonly message: string;
      readonly errors: readonly TransactionError[];
    };

export interface Forger {
  readonly publicKey: PublicKey;
  readonly address: Address;
  readonly username: string;
  /** Number of the forger's next slot; slots are counted from the epoch of the network. */
  readonly nextSlot: number;
}

/**
 * Listeners to events of the node. Listeners must not throw, and must return quickly, because the caller waits for
 * them.
 */
export interface NodeListener {
  /**
   * Called when the chain log has new records.
   *
   * @param applied the applied blocks; empty after a revert, and undefined if a reading process has moved to a newer
   *   snapshot
   */
  chainChanged?(applied?: readonly Block[]): void;
  /** Called when a transaction in the pool first passes verification, even if members' signatures are missing. */
  transactionReceived?(transaction: Transaction): void;
}

/**
 * A value that the node's own process returns at once. A reading process must ask the node's own process for the value,
 * and therefore returns a promise. The promise rejects with ProtocolError `NODE_BUSY` if too many requests wait for the
 * node, with `NODE_SILENT` if the node does not answer within 10 s, or with the error of the node's own method.
 */
export type Live<T> = T | Promise<T>;

/**
 * The data and functions of a node. A method that changes data rejects with ProtocolError `NODE_STOPPED` in the view of
 * a stopped node. In a reading process, it rejects with `NODE_BUSY` if too many changes wait for the node.
 */
export interface NodeApi {
  readonly params: ChainParams;
  readonly identity: NodeIdentity;
  readonly chain: ChainQueries;
  readonly log: ChainLog;
  /** @returns a function that removes the listener */
  listen(listener: NodeListener): () => void;
  /**
   * If `chain` and `log` read from a snapshot, moves them to the newest state of the store, even if the node has not
   * announced this state to this process yet. While the indexes lag behind the chain, the method changes nothing.
   */
  refresh?(): void;
  status(): Live<NodeStatus>;
  /** Converts a transaction to JSON, in the form that the generation of the network uses. */
  transactionJson(transaction: Transaction): JsonObject;
  /**
   * All transactions of a queue, in the order in which they entered the queue. For a stopped node, `received` has the
   * unconfirmed transactions of the transaction journal, and the other queues are empty.
   */
  poolEntries(state: PoolState): Live<readonly PoolEntry[]>;
  /**
   * Returns which members have signed a group transaction of the pool. Undefined if the pool does not have the
   * transaction, or if the transaction needs no members' signatures.
   *
   * @param client IP address of the client (of IPv6 its /64), to which the node charges the signature checks
   * @throws ProtocolError `VERIFICATION_LIMIT` if the verification budget of the address or of its group is used up
   */
  signersOf(id: string, client?: string): Live<GroupSigners | undefined>;
  /** Like `PoolEntry.ready`, for a confirmed transaction: true if it registers a group, or if a group sent it. */
  readyOf(transaction: Transaction): boolean | undefined;
  /**
   * Unix time in milliseconds at which a transaction arrived in the pool, even if a block contains the transaction now.
   * Undefined if the time is unknown. A reading process knows only the times of confirmed transactions.
   */
  receivedAtOf(id: string): number | undefined;
  peers(): Live<readonly PeerEntry[]>;
  /** The verdicts on all known addresses. Connected peers come first. */
  peerVerdicts(): Live<readonly PeerVerdict[]>;
  /**
   * The owners of the slots after the present slot. The first `offset` of these slots are skipped, and at most `limit`
   * slots follow. The list ends one round after the present slot.
   */
  forgers(limit: number, offset: number): Live<Page<Forger>>;
  /**
   * @param client IP address of the client; the signature checks are charged to this address, or to the /64 of an IPv6
   *   address. If the verification budget of this address or of its group is used up, the refusal is
   *   `VERIFICATION_LIMIT`
   */
  submitTransaction(json: unknown, client?: string): Promise<SubmitResult>;
  /** @param client the same as for `submitTransaction` */
  submitSignature(json: unknown, client?: string): Promise<SubmitResult>;
  /**
   * Builds, signs and submits the transaction that registers a second key. The node does not store the keys.
   *
   * @param client the same as for `submitTransaction`
   */
  registerSecondSignature(keyPair: KeyPair, secondPublicKey: PublicKey, client?: string): Promise<SubmitResult>;
  forgingDelegates(): Live<readonly ForgingDelegate[]>;
  /**
   * Switches forging of a configured delegate on or off.
   *
   * @throws ProtocolError `FORGING_DELEGATE_UNKNOWN`, `FORGING_PASSWORD_WRONG` or `FORGING_NOT_A_DELEGATE`, with the
   *   message of lisk-sdk. If `forging` is true, also `FORGING_MOVED` if the delegate was handed over to another node,
   *   or an error of `SigningJournal.hold`
   */
  setForging(publicKey: PublicKey, password: string, forging: boolean): Promise<ForgingDelegate>;
  /** All metrics of the node in the text format of Prometheus; undefined if the node has no metrics. */
  metricsText(): Promise<string> | undefined;
  /** Values of the last hour or day, for charts. */
  history(span: HistorySpan): Live<NodeHistory>;
  /** The latest diagnostics, newest first, at most `limit` (at least 1). */
  diagnostics(limit: number): Live<readonly Diagnostic[]>;
  /**
   * The stored events of `count` slots, beginning with `firstSlot`. The view of a stopped node returns no slots.
   *
   * @param count at least 1
   */
  slotReport(firstSlot: number, count: number): Live<SlotReport>;
  /** SHA-256 of all consensus state, hexadecimal, together with the tip of that state. */
  stateDigest(): { readonly height: number; readonly blockId: string; readonly digest: string };
}

/**
 * The API inside the process of the node. Each method whose result is `Live` in `NodeApi` returns its value at once.
 * The exception is `signersOf`, which must check signatures.
 */
export interface LocalNodeApi extends NodeApi {
  status(): NodeStatus;
  poolEntries(state: PoolState): readonly PoolEntry[];
  peers(): readonly PeerEntry[];
  peerVerdicts(): readonly PeerVerdict[];
  forgers(limit: number, offset: number): Page<Forger>;
  forgingDelegates(): readonly ForgingDelegate[];
  history(span: HistorySpan): NodeHistory;
  diagnostics(limit: number): readonly Diagnostic[];
  slotReport(firstSlot: number, count: number): SlotReport;
  /** The times that `receivedAtOf` returns for confirmed transactions, oldest confirmation first. */
  confirmedTimes(): readonly ReceivedTime[];
}

/** Id of a transaction, and the Unix time in milliseconds at which the transaction arrived in the pool. */
export type ReceivedTime = readonly [id: string, receivedAtMs: number];
