/**
 * Defines the interface to a node. The interface has three implementations: the process of a running node, a reading
 * process (which answers HTTP requests for the node), and the view of a stopped node (`openStoppedNode`). The HTTP
 * module reads and changes the node only through this interface.
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
 * The queues of the transaction pool, in the order in which a transaction from a peer passes them. A transaction from
 * an HTTP client begins in `verified`. If a transaction still needs signatures from members of a multisignature
 * account, the transaction waits in `pending` instead of `verified`.
 */
export type PoolState = 'received' | 'validated' | 'verified' | 'pending' | 'ready';

/** The identity of a node: values that do not change while the process runs. */
export interface NodeIdentity {
  readonly networkName: string;
  /** Version of the Lisk software that the node reports to peers and clients (`appVersion` of the network). */
  readonly version: string;
  readonly protocolVersion: string;
  /**
   * The letter `v` and the version of Bloomery. If the date and time of the build are known, the text also contains
   * this date and time, in UTC. The text is empty only in tests.
   */
  readonly build: string;
  /** Commit of the source code: 40 hexadecimal characters, or empty if unknown. */
  readonly commit: string;
  /**
   * 16 alphanumeric characters that the process chooses at each start. In the view of a stopped node, the nonce is 16
   * zeros.
   */
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
   * Broadhash of the chain in hexadecimal. The broadhash is the SHA-256 hash of the ids of the last five blocks, with
   * the id of the highest block first. If the chain has only the genesis block, the broadhash is the nethash.
   */
  readonly broadhash: string;
  /**
   * Percentage of the connected peers that have the tip of this node, from 0 to 100, with two significant digits. The
   * node counts at most a hundred peers. In generation 2 (the protocol of lisk-sdk 2.3), the node does not count a peer
   * that announces the genesis block as its tip, unless the genesis block is this node's only block. The percentage is
   * 0 if the node counts no peer.
   */
  readonly consensusPercent: number;
  /**
   * The height that the largest number of connected peers announce; 0 if no connected peer announces a height. If this
   * node dialled any of the peers that announce a height, or if the operator named any of them, only the dialled and
   * the named peers count. If several heights are equally frequent, the value is the lowest of these heights.
   */
  readonly networkHeight: number;
  readonly pool: Readonly<Record<PoolState, number>>;
  /**
   * Time in milliseconds by which the clocks of the peers seem to be ahead of this node's clock; negative if the peers'
   * clocks are behind. The value is undefined if the node cannot determine which clock is wrong. The value is also
   * undefined if, in the last hour, fewer than two peers have each sent at least three blocks.
   */
  readonly clockOffsetMs?: number;
  /**
   * A difference of at least 2 s between a peer's clock and this node's clock. The member is present if, for two
   * minutes, the node could not determine which of the two clocks is wrong. `offsetMs` is the time in milliseconds by
   * which the peer's clock is ahead; negative if the peer's clock is behind.
   */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /**
   * Progress of the current sync; present even before the node has applied a block of the sync. Absent if no sync runs,
   * or if no sync peer is known.
   */
  readonly sync?: SyncProgress;
  /**
   * True if the node has no peers and needs no peers. The node needs no peers if P2P is off. The node also needs no
   * peers if two conditions hold. First, the configuration names no other node as a fixed or seed peer. Second, the
   * forging delegates of this node own all slots of the next block's round.
   */
  readonly isAlone?: true;
  /**
   * `count` is the number of reorgs since the start of the node. `latest` contains the latest of these reorgs (at most
   * 20), newest first.
   */
  readonly reorgs: { readonly count: number; readonly latest: readonly Reorg[] };
  /** The reading processes, which answer the node's HTTP requests; undefined if the node's own process answers them. */
  readonly readers?: ReadersStatus;
}

export interface ReadersStatus {
  /** Number of reading processes (readers) that the option `http.processes` sets. */
  readonly wanted: number;
  /** Number of times that the node has replaced a reader by a new reader since the start of the node. */
  readonly restarts: number;
  readonly each: readonly ReaderStatus[];
}

export interface ReaderStatus {
  /**
   * The number that identifies the reader. A new reader gets the lowest number (1, 2, 3, and so on) that no running
   * reader has.
   */
  readonly reader: number;
  /**
   * The state `silent` means that this reader did not answer the node's pings or used too much memory. The node has
   * started another reader to replace the silent reader.
   */
  readonly state: 'starting' | 'up' | 'silent';
  /** Time when the reader started; Unix time in milliseconds. */
  readonly sinceMs: number;
  /**
   * Memory in bytes that the reader uses, without the pages of the store that are mapped into memory. The value is 0
   * until the reader has answered its first ping from the node.
   */
  readonly memoryBytes: number;
  /**
   * Number of HTTP requests to the reader since its start, including refused requests. The reader reports this number
   * in each answer to a ping of the node.
   */
  readonly requests: number;
}

/**
 * Describes a reorg. In a reorg, the node reverts one or more blocks together, usually because another branch is
 * better.
 */
export interface Reorg {
  /** Time of the reorg as Unix time in milliseconds. */
  readonly timeMs: number;
  /** Height of the parent of the lowest reverted block. */
  readonly commonHeight: number;
  readonly revertedBlocks: number;
}

export interface SyncProgress {
  /** The higher of two heights: the height that the sync peer announces, and the height of this node. */
  readonly targetHeight: number;
  /** Number of applied blocks per second, measured over about the last 30 s. */
  readonly blocksPerS: number;
  /** Estimated seconds until the end of the sync; undefined until the node has applied a block of the sync. */
  readonly secondsLeft?: number;
}

/**
 * A record that explains an event to the operator: what happened, and why. Such events are, for example, a refused
 * block, a dropped peer or a missed slot.
 */
export interface Diagnostic {
  /** Number of the diagnostic; the first diagnostic after the start of the node has number 1. */
  readonly number: number;
  /** Time of the event as Unix time in milliseconds. */
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
  /** Unix time in milliseconds at which the transaction arrived in the pool. */
  readonly receivedAtMs: number;
  /**
   * True if the transaction has enough signatures from the members of its multisignature account; false if such
   * signatures are missing. Undefined if the pool has not verified the transaction yet, or if the transaction needs no
   * members' signatures.
   */
  readonly ready?: boolean;
}

/** The members of a multisignature account (a group). `hasSigned` shows whether a member has signed a transaction. */
export interface GroupSigners {
  /** Number of members that must sign the transaction. */
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
  /** Port of the peer; absent for a banned IP address at which the node knows no peer. */
  readonly wsPort?: number;
  /**
   * The verdict is `dropped` if the connection ended, or if a dial failed for a reason that does not change while both
   * nodes run (for example, because the peer belongs to another network). If the peer connects again, its verdict is no
   * longer `dropped`. The verdict `waiting` means that the node will not dial the peer before `untilMs`. If the verdict
   * is `waiting` and `untilMs` is absent, the node does not dial the peer again, except after a restart of the node, or
   * after the end of a connection that the peer opened. The verdict is `known` if the node knows the address, and can
   * dial the address now.
   */
  readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
  readonly direction?: 'inbound' | 'outbound';
  /**
   * Unix time in milliseconds at which the connection started. If the verdict is `dropped`, this is the time at which
   * the connection ended or the dial failed.
   */
  readonly sinceMs?: number;
  /**
   * For a banned address, the time at which the ban ends. For all other addresses, the earliest time of the next dial.
   * Unix time in milliseconds.
   */
  readonly untilMs?: number;
  /** Close code of the dropped connection, or of the last failed dial. */
  readonly code?: number;
  readonly reason?: string;
  /** Roles that the configuration gives to the peer. */
  readonly roles: readonly PeerRole[];
  /**
   * The list of the peer book that contains the peer. The header of `engine/peers/book.ts` explains the two lists.
   */
  readonly list?: 'new' | 'tried';
  /**
   * Number of points of the peer. Each peer has 100 points at first, and loses points for an offence. A peer that the
   * operator named loses points only for the offences in `NEVER_EXEMPT` (`peer-scoring.ts`). When a peer has 0 points,
   * the node bans the peer's IP address. If the operator named a peer at this address, the node does not ban the
   * address, and only disconnects the offending peer. After the ban or the disconnection, the offending peer has 100
   * points again. A banned IP address at which the node knows no peer has 0 points.
   */
  readonly reputation: number;
  readonly height?: number;
  readonly version?: string;
  readonly latencyMs?: number;
}

export interface ForgingDelegate {
  readonly publicKey: PublicKey;
  readonly forging: boolean;
  /** The reason why this delegate does not sign yet although forging is on for this delegate. */
  readonly waiting?: ForgingWait;
  /** The reason why this node forges for no delegate at present. */
  readonly paused?: ForgingPause;
}

export interface ForgingPause {
  readonly reason: string;
  /** Unix time in milliseconds at which the pause began. */
  readonly sinceMs: number;
  /** Code of the fault that causes the pause, such as `STORE_WRITE_FAILED`; absent if no fault causes the pause. */
  readonly cause?: string;
}

export interface ForgingWait {
  /** Stable code of the reason for the wait, such as `FORGING_HAND_OVER`. */
  readonly code: string;
  readonly reason: string;
  /**
   * Unix time in milliseconds at which the wait will probably end. The member is absent if this time is unknown or has
   * passed.
   */
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
 * Functions that the node calls when its chain or its pool has changed. The functions must not throw. They must return
 * quickly, because the node waits until they return.
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
 * The result of a method that returns its value synchronously in the node's own process. In a reading process, the
 * method must ask the node's own process for the value, and therefore returns a promise. If the method fails in the
 * node's own process, the promise rejects with the same error. The promise can also reject with one of two other
 * ProtocolErrors. The error is `NODE_BUSY` if too many calls of the reading process already wait for the node's own
 * process. The error is `NODE_SILENT` if the node's own process does not answer within 10 s. If the reading process had
 * already sent the call that failed with `NODE_SILENT`, each later call fails with `NODE_SILENT` immediately, until the
 * node's own process answers again.
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
   * In a reading process, `chain` and `log` read from a snapshot of the store. This method makes `chain` and `log` read
   * from the newest state of the store, even if the node has not announced this state to the reading process yet. While
   * the indexes of the store lag behind the chain, the method changes nothing.
   */
  refresh?(): void;
  status(): Live<NodeStatus>;
  /**
   * Converts a transaction to JSON. The form of the JSON depends on the network's generation (version of the protocol).
   */
  transactionJson(transaction: Transaction): JsonObject;
  /**
   * Returns all transactions of a queue of the pool, in the order in which they entered the queue. In the view of a
   * stopped node, the queue `received` contains the unconfirmed transactions of the transaction journal, and the other
   * queues are empty.
   */
  poolEntries(state: PoolState): Live<readonly PoolEntry[]>;
  /**
   * Returns which members of a multisignature account have signed a transaction of the pool. The result is undefined if
   * the pool does not have the transaction, or if the transaction needs no members' signatures.
   *
   * @param client IP address of the client; the node charges the signature checks to this address, or to the /64 of an
   *   IPv6 address
   * @throws ProtocolError `VERIFICATION_LIMIT` if the verification budget of the address or of its budget group is used
   *   up
   */
  signersOf(id: string, client?: string): Live<GroupSigners | undefined>;
  /**
   * Returns for a confirmed transaction the value that `PoolEntry.ready` has for a transaction in the pool. The result
   * is true if the transaction registers a multisignature account or has members' signatures. Otherwise the result is
   * undefined.
   */
  readyOf(transaction: Transaction): boolean | undefined;
  /**
   * Returns the Unix time in milliseconds at which a transaction arrived in the pool, even if a block contains the
   * transaction now. The result is undefined if this time is unknown. A reading process has only the times of confirmed
   * transactions.
   */
  receivedAtOf(id: string): number | undefined;
  peers(): Live<readonly PeerEntry[]>;
  /** Returns the states of all known addresses except the node's own addresses. Connected peers come first. */
  peerVerdicts(): Live<readonly PeerVerdict[]>;
  /**
   * Returns the owners of the slots after the present slot. The method skips the first `offset` of these slots, and
   * returns the owners of at most the next `limit` slots. The last slot in the result is at most one round after the
   * present slot.
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
   * @throws ProtocolError `FORGING_DELEGATE_UNKNOWN` if the delegate is not configured, `FORGING_PASSWORD_WRONG` if the
   *   password is wrong, or `FORGING_NOT_A_DELEGATE` if the state has no such delegate. Each of these errors has the
   *   message text that lisk-sdk uses. If `forging` is true, the method can also throw `FORGING_MOVED` (the delegate
   *   was handed over to another node) or an error of `SigningJournal.hold`
   */
  setForging(publicKey: PublicKey, password: string, forging: boolean): Promise<ForgingDelegate>;
  /**
   * Returns all metrics of the node in the text format of Prometheus. The result is undefined if the node has no
   * metrics.
   */
  metricsText(): Promise<string> | undefined;
  /** Returns the history of the node over the last hour or day. The dashboard draws charts from this history. */
  history(span: HistorySpan): Live<NodeHistory>;
  /**
   * Returns the latest diagnostics, newest first. The result contains at most `limit` diagnostics. `limit` must be at
   * least 1.
   */
  diagnostics(limit: number): Live<readonly Diagnostic[]>;
  /**
   * Returns the stored events and the owners of `count` slots, beginning with `firstSlot`. The other members of the
   * result cover the whole slot history. The view of a stopped node returns no slots.
   *
   * @param count at least 1
   */
  slotReport(firstSlot: number, count: number): Live<SlotReport>;
  /**
   * Returns the SHA-256 hash of the complete consensus state in hexadecimal. The result also contains the height and
   * the id of the tip. The hashed state is the state after the tip block.
   */
  stateDigest(): { readonly height: number; readonly blockId: string; readonly digest: string };
}

/**
 * The API inside the process of the node. If the result of a method is `Live` in `NodeApi`, the method returns its
 * value synchronously here. Only `signersOf` can still return a promise, because this method must check signatures.
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
  /**
   * Returns the times that `receivedAtOf` returns for confirmed transactions. The times are in the order in which
   * blocks first confirmed the transactions.
   */
  confirmedTimes(): readonly ReceivedTime[];
}

/** Id of a transaction, and the Unix time in milliseconds at which the transaction arrived in the pool. */
export type ReceivedTime = readonly [id: string, receivedAtMs: number];
