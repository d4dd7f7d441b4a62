/**
 * Defines the interface to a node. A running node, each of its reading processes, and the view of a stopped node
 * (`openStoppedNode`) implement the interface. The HTTP module reads and changes the node only through this interface.
 */

import type { ChainParams } from '../protocol/params.ts';
import type { Address, Block, JsonObject, KeyPair, PublicKey, Transaction } from '../protocol/types.ts';
import type { TransactionError } from '../protocol/verdict.ts';
import type { ChainLog } from './chain-log.ts';
import type { HistorySpan, NodeHistory } from './node-history.ts';
import type { ChainQueries, Page } from './queries.ts';
import type { SlotReport } from './slot-report.ts';
import type { PeerInfo } from './transport.ts';

/**
 * The queues of the pool, in the order in which a transaction of a peer passes them. A transaction of a client begins
 * in `verified`. A transaction that lacks signatures of members of a multisignature account waits in `pending` instead
 * of `verified`.
 */
export type PoolState = 'received' | 'validated' | 'verified' | 'pending' | 'ready';

/** Values that do not change while the process runs. */
export interface NodeIdentity {
  readonly networkName: string;
  /** Version of the Lisk software that the node reports to peers and clients (`appVersion` of the network). */
  readonly version: string;
  readonly protocolVersion: string;
  /** `v` and the version of Bloomery, then the date and time of the build (UTC) if known. Empty only in tests. */
  readonly build: string;
  /** Commit of the source code: 40 hexadecimal characters, or empty if unknown. */
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
   * Percentage of the connected peers that have the tip of this node, from 0 to 100, with two significant digits. The
   * node counts at most a hundred peers. In generation 2, the node ignores a peer that announces the genesis block as
   * its tip, except while this node itself has only the genesis block. The percentage is 0 if no peer is counted.
   */
  readonly consensusPercent: number;
  /** Most frequent height that connected peers announce; 0 if no connected peer announces a height. */
  readonly networkHeight: number;
  readonly pool: Readonly<Record<PoolState, number>>;
  /**
   * Time in milliseconds by which the clocks of the peers seem to be ahead of this node's clock; negative if they are
   * behind. Undefined if fewer than two peers have sent at least three blocks each in the last hour, or if the node
   * cannot determine which clock is wrong.
   */
  readonly clockOffsetMs?: number;
  /**
   * A difference of at least 2 s between a peer's clock and this node's clock. Present if the node could not determine
   * for two minutes which of the two clocks is wrong. `offsetMs` is the time in milliseconds by which the peer's clock
   * is ahead; negative if it is behind.
   */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /**
   * Progress of the current sync; present even before the node has applied a block of the sync. Absent if no sync runs,
   * or if no sync peer is known.
   */
  readonly sync?: SyncProgress;
  /**
   * True if the node has no peers and needs none. The node needs no peers if P2P is off. The node also needs no peers
   * if the configuration names no other node as a fixed or seed peer, and the node's forging delegates own all slots of
   * the round.
   */
  readonly isAlone?: true;
  /** Number of reorgs since the start of the node, and the latest reorgs (at most 20), newest first. */
  readonly reorgs: { readonly count: number; readonly latest: readonly Reorg[] };
  /** The reading processes, which answer HTTP for the node; undefined if the node's own process answers HTTP. */
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
  /** Number of the reader. A new reader gets the lowest number, from 1 on, that no running reader has. */
  readonly reader: number;
  /**
   * `silent`: this reader left pings of the node unanswered or used too much memory, so the node has started another
   * reader to replace it.
   */
  readonly state: 'starting' | 'up' | 'silent';
  /** Time when the reader started; Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Memory of the reader in bytes, without pages of the store; 0 before its first answer to a ping of the node. */
  readonly memoryBytes: number;
  /**
   * Number of HTTP requests to the reader since its start, including refused requests. The reader reports this number
   * in each answer to a ping of the node.
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
  /** Number of applied blocks per second, measured over about the last 30 s. */
  readonly blocksPerS: number;
  /** Estimated seconds until the end of the sync; undefined until the node has applied a block of the sync. */
  readonly secondsLeft?: number;
}

/**
 * A record of an event that may need an explanation, and of the reason for the event. Examples are a refused block, a
 * dropped peer and a missed slot.
 */
export interface Diagnostic {
  /** Number of the diagnostic; the first diagnostic after the start has number 1. */
  readonly number: number;
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** The module that reported the event: `chain`, `sync`, `peers`, `forge`, `pool` or `notify`. */
  readonly module: string;
  /** Stable code of the event, such as `BLOCK_SIGNATURE_INVALID`. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export interface PoolEntry {
  readonly transaction: Transaction;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /**
   * Whether enough members of the multisignature account have signed. Undefined if the pool has not verified the
   * transaction yet, or if the transaction needs no signatures of members.
   */
  readonly ready?: boolean;
}

/** The members of a multisignature account (a group). `hasSigned` shows whether a member has signed a transaction. */
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

/**
 * The state of a peer's address from the view of this node, for example connected, banned or waiting for the next dial.
 */
export interface PeerVerdict {
  readonly ip: string;
  /** Port of the peer; absent for a banned address without a known peer. */
  readonly wsPort?: number;
  /**
   * `dropped`: the connection ended, or a dial failed for a lasting reason (for example, another network), and the peer
   * has not connected again. `waiting`: the node does not dial the peer before `untilMs`. If `untilMs` is absent, the
   * node dials the peer again only after a restart, or after the end of a connection that the peer opened. `known`: the
   * node knows the address, and may dial it.
   */
  readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
  readonly direction?: 'inbound' | 'outbound';
  /**
   * Start of the connection. For `dropped`: end of the connection, or time of the failed dial. Unix time in
   * milliseconds.
   */
  readonly sinceMs?: number;
  /** End of the ban, or end of the wait before the next dial; Unix time in milliseconds. */
  readonly untilMs?: number;
  /** Close code of the dropped connection, or of the last failed dial. */
  readonly code?: number;
  readonly reason?: string;
  /** Roles that the configuration gives to the peer. */
  readonly roles: readonly PeerRole[];
  /** List of the peer book that has the peer. The header of `engine/peers/book.ts` explains the two lists. */
  readonly list?: 'new' | 'tried';
  /**
   * Points of the peer, at first 100. An offence costs points. A peer that the operator named loses points only for
   * `WIRE_OFFENCES` (`peer-scoring.ts`). At 0 points, the node bans the IP address, or only disconnects the peer if the
   * operator named a peer at this address. From this moment, the peer has 100 points again. A banned address without a
   * known peer has 0 points.
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
  /** Stable code of the reason, such as `FORGING_HAND_OVER`. */
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
 * Functions that the node calls when its chain or its pool has changed. The functions must not throw, and must return
 * quickly, because the node waits for them.
 */
export interface NodeListener {
  /**
   * Called when the chain log has new records.
   *
   * @param applied the applied blocks; empty after a revert, and undefined if a reading process has moved to a newer
   *   snapshot of the store
   */
  chainChanged?(applied?: readonly Block[]): void;
  /** Called when a transaction in the pool first passes verification, even if members' signatures are missing. */
  transactionReceived?(transaction: Transaction): void;
}

/**
 * A value that the node's own process returns synchronously. A reading process must ask the node's own process for the
 * value, and therefore returns a promise. The promise rejects with the error of the method in the node's own process.
 * The promise also rejects with ProtocolError `NODE_BUSY` if too many calls of the reading process wait for the node's
 * own process, or `NODE_SILENT` if that process does not answer within 10 s.
 */
export type Live<T> = T | Promise<T>;

/**
 * The data and functions of a node. A method that changes data rejects with ProtocolError `NODE_STOPPED` in the view of
 * a stopped node. In a reading process, a method that changes data rejects with `NODE_BUSY` if too many earlier calls
 * of such methods still wait for the answer of the node's own process.
 */
export interface NodeApi {
  readonly params: ChainParams;
  readonly identity: NodeIdentity;
  readonly chain: ChainQueries;
  readonly log: ChainLog;
  /** @returns a function that removes the listener */
  listen(listener: NodeListener): () => void;
  /**
   * If `chain` and `log` read from a snapshot of the store, moves them to the newest state of the store, even if the
   * node has not announced this state to this process yet. While the indexes of the store lag behind the chain, the
   * method changes nothing.
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
   * Returns which members of a multisignature account have signed a transaction of the pool. Undefined if the pool does
   * not have the transaction, or if the transaction needs no members' signatures.
   *
   * @param client IP address of the client; the node charges the signature checks to this address, or to the /64 of an
   *   IPv6 address
   * @throws ProtocolError `VERIFICATION_LIMIT` if the verification budget of the address or of its budget group is used
   *   up
   */
  signersOf(id: string, client?: string): Live<GroupSigners | undefined>;
  /**
   * Like `PoolEntry.ready`, for a confirmed transaction: true if the transaction registers a multisignature account or
   * has members' signatures; otherwise undefined.
   */
  readyOf(transaction: Transaction): boolean | undefined;
  /**
   * Unix time in milliseconds at which a transaction arrived in the pool, even if a block contains the transaction now.
   * Undefined if the time is unknown. A reading process knows only the times of confirmed transactions.
   */
  receivedAtOf(id: string): number | undefined;
  peers(): Live<readonly PeerEntry[]>;
  /** Returns the states of all known addresses except the node's own addresses. Connected peers come first. */
  peerVerdicts(): Live<readonly PeerVerdict[]>;
  /**
   * The owners of the slots after the present slot. The first `offset` of these slots are skipped, and at most `limit`
   * slots follow. The list ends one round after the present slot.
   */
  forgers(limit: number, offset: number): Live<Page<Forger>>;
  /**
   * @param client IP address of the client; the node charges the signature checks to this address, or to the /64 of an
   *   IPv6 address. If the verification budget of this address or of its budget group is used up, the result has the
   *   code `VERIFICATION_LIMIT`
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
   * @throws ProtocolError `FORGING_DELEGATE_UNKNOWN` (not configured), `FORGING_PASSWORD_WRONG`, or
   *   `FORGING_NOT_A_DELEGATE` (the state has no such delegate), each with the message text that lisk-sdk uses. If
   *   `forging` is true, also `FORGING_MOVED` if the delegate was handed over to another node, or an error of
   *   `SigningJournal.hold`
   */
  setForging(publicKey: PublicKey, password: string, forging: boolean): Promise<ForgingDelegate>;
  /** All metrics of the node in the text format of Prometheus; undefined if the node has no metrics. */
  metricsText(): Promise<string> | undefined;
  /** Values of the last hour or day, for charts. */
  history(span: HistorySpan): Live<NodeHistory>;
  /** The latest diagnostics, newest first, at most `limit` (at least 1). */
  diagnostics(limit: number): Live<readonly Diagnostic[]>;
  /**
   * The stored events and the owners of `count` slots, beginning with `firstSlot`. The other members of the result
   * cover the whole slot history. The view of a stopped node returns no slots.
   *
   * @param count at least 1
   */
  slotReport(firstSlot: number, count: number): Live<SlotReport>;
  /**
   * Returns the SHA-256 of the complete consensus state, hexadecimal, and the height and id of the tip of this state.
   */
  stateDigest(): { readonly height: number; readonly blockId: string; readonly digest: string };
}

/**
 * The API inside the process of the node. Each method whose result is `Live` in `NodeApi` returns its value
 * synchronously, except `signersOf`, which must check signatures.
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
