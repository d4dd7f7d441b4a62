/** The interface of a running node to the outside. The HTTP module uses only this interface. */

import type { ChainParams } from '../protocol/params.ts';
import type { Address, JsonObject, KeyPair, PublicKey, Transaction } from '../protocol/types.ts';
import type { TransactionError } from '../protocol/verdict.ts';
import type { ChainLog } from './chain-log.ts';
import type { ChainQueries, Page } from './queries.ts';
import type { PeerInfo } from './transport.ts';

export type PoolState = 'received' | 'validated' | 'verified' | 'pending' | 'ready';

/** Facts that do not change while the process runs. */
export interface NodeIdentity {
  readonly networkName: string;
  /** Application version, as peers and clients see it. */
  readonly version: string;
  readonly protocolVersion: string;
  /** `v` and the version, then date and time of the build where known; may be empty. */
  readonly build: string;
  /** 40 hexadecimal characters, or empty. */
  readonly commit: string;
  /** 16 alphanumeric characters, new at every start. */
  readonly nonce: string;
}

export interface NodeStatus {
  readonly height: number;
  readonly finalizedHeight: number;
  readonly syncing: boolean;
  /** Unix time in milliseconds. */
  readonly currentTimeMs: number;
  readonly secondsSinceEpoch: number;
  /** SHA-256 of the last five block ids, highest first, hexadecimal; the nethash while there is only genesis. */
  readonly broadhash: string;
  /** Percent of connected peers that agree with this node's tip, 0 to 100; 0 without peers. */
  readonly consensusPercent: number;
  /** Most frequent height among connected peers, 0 without peers. */
  readonly networkHeight: number;
  readonly pool: Readonly<Record<PoolState, number>>;
  /** Time by which the clocks of the peers seem to be ahead of this node's; undefined until enough blocks showed it. */
  readonly clockOffsetMs?: number;
  /** True if the clock of a peer differs much from this node's, and it is not known which of the two is wrong. */
  readonly clocksDiffer?: { readonly peer: string; readonly offsetMs: number };
  /** While blocks are downloaded. */
  readonly sync?: SyncProgress;
  /** True for a node that has no peers and needs none. */
  readonly isAlone?: true;
  /** Number of times that blocks were reverted since the start, and the latest of them, newest first. */
  readonly branchChanges: { readonly count: number; readonly latest: readonly BranchChange[] };
  /** Processes that answer HTTP beside the node; undefined where it answers itself. */
  readonly readers?: ReadersStatus;
}

export interface ReadersStatus {
  /** Of `http.processes`. */
  readonly wanted: number;
  /** Number of readers that were started in place of others, since the node started. */
  readonly restarts: number;
  readonly each: readonly ReaderStatus[];
}

export interface ReaderStatus {
  /** From 1, the lowest number that is free at its start. So a reader mostly has the number of the one that it replaces. */
  readonly reader: number;
  /** `silent`: the reader does not react, and another one is started beside it. */
  readonly state: 'starting' | 'up' | 'silent';
  /** Time of its start; Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Memory of its own, without pages of the store; 0 before its first report. */
  readonly memoryBytes: number;
  /** Requests to it since its start, refused ones included. */
  readonly requests: number;
}

/** Blocks that were reverted as one unit, mostly for a better branch. */
export interface BranchChange {
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** Height of the last block that stayed. */
  readonly commonHeight: number;
  readonly revertedBlocks: number;
}

export interface SyncProgress {
  /** Height of the chain that is downloaded, as its peer announces it. */
  readonly targetHeight: number;
  /** Recent rate of applied blocks per second. */
  readonly blocksPerS: number;
  /** Undefined until the first block is applied. */
  readonly secondsLeft?: number;
}

export type HistorySpan = 'hour' | 'day';

/** What happened on the node in the last hour or day. */
export interface NodeHistory {
  /** Length of a point. */
  readonly intervalMs: number;
  /** Oldest first; an interval in which nothing happened has none. */
  readonly points: readonly HistoryPoint[];
}

export interface HistoryPoint {
  /** Start of the interval, Unix time in milliseconds. */
  readonly timeMs: number;
  /** Blocks that were applied. */
  readonly blocks: number;
  /** Transactions of those blocks. */
  readonly transactions: number;
  /** Slots without a block between those blocks. */
  readonly missedSlots: number;
  /** Times that blocks were reverted. */
  readonly reorgs: number;
  /** Mean time from the start of a slot until its block was applied; undefined without blocks that were new. */
  readonly delayMs?: number;
  /** Transactions in the pool, and connected peers, when the node last looked. */
  readonly pool: number;
  readonly peers: number;
}

/** A decision of the node, with its reason. */
export interface Diagnostic {
  /** From 1, in the order of the diagnostics since the start. */
  readonly number: number;
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** The part of the node that decided: `chain`, `sync`, `peers`, `forge` or `pool`. */
  readonly module: string;
  /** Stable, for example `BLOCK_SIGNATURE_INVALID`. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** An event of a slot, seen or caused by the node. */
export interface SlotFact {
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  /** The part of the node that tells it: `chain` or `forge`. */
  readonly module: string;
  /** Stable, for example `BLOCK_FORGED` or `BLOCK_REVERTED`. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** The known facts of slots. */
export interface SlotReport {
  /** Unix time in milliseconds from which on every fact was kept; earlier slots may lack some. */
  readonly sinceMs: number;
  readonly slots: readonly {
    readonly slot: number;
    readonly facts: readonly SlotFact[];
    readonly forger?: SlotForger;
  }[];
  /** Times at which delegates were switched on and off here since the start, oldest first. */
  readonly switches: readonly { readonly timeMs: number; readonly delegate: PublicKey; readonly on: boolean }[];
  /** Branches that this node was on and left, oldest first. */
  readonly branches: readonly LeftBranch[];
  /** Slots in which the scheduler ran, as ranges, oldest first. In other slots the process did not run. */
  readonly looks: readonly SlotRange[];
  /** Times in which another round may have begun while this node had no newer block, oldest first. */
  readonly oldOrders: readonly OldOrder[];
}

/** The owner of a slot; absent if its order is not known any more, or if the slot has no owner. */
export interface SlotForger {
  readonly publicKey: PublicKey;
  /** Empty for a key that belongs to no delegate. */
  readonly username: string;
  /** Height of the block whose forging order names the owner. */
  readonly height: number;
  /** False where the chain here ends before the slot, and others may have begun a round since whose order is not known here. */
  readonly isCertain: boolean;
}

export interface SlotRange {
  readonly fromSlot: number;
  readonly toSlot: number;
}

export interface OldOrder extends SlotRange {
  /** Height of the block whose forging order the node used. */
  readonly height: number;
}

/** A branch that the node left. In its slots, the order of the delegates may have been another than that of the chain. */
export interface LeftBranch {
  /** Unix time in milliseconds at which it was left. */
  readonly timeMs: number;
  /** First slot after the block that it had in common with the chain, and the slot in which it was left. */
  readonly fromSlot: number;
  readonly toSlot: number;
  /** First block of the branch that took its place; undefined where that came later. */
  readonly forHeight?: number;
  readonly forBlockId?: string;
}

export interface PoolEntry {
  readonly transaction: Transaction;
  /** Unix time in milliseconds. */
  readonly receivedAtMs: number;
  /** Undefined when no group is concerned; false until enough members signed. */
  readonly ready?: boolean;
}

/** The members of a group, and which of them have signed a transaction. */
export interface GroupSigners {
  /** Signatures that the transaction needs. */
  readonly min: number;
  /** In the order of the group's registration. */
  readonly members: readonly { readonly publicKey: PublicKey; readonly hasSigned: boolean }[];
}

export interface PeerEntry {
  readonly info: PeerInfo;
  readonly state: 'connected' | 'disconnected';
}

export type PeerRole = 'fixed' | 'seed' | 'whitelisted' | 'blacklisted';

/** The verdict of the node on an address. */
export interface PeerVerdict {
  readonly ip: string;
  /** Absent for a banned address of which no peer is known. */
  readonly wsPort?: number;
  /**
   * `dropped`: a connection ended and there is none since; `waiting`: not to be dialled before `untilMs`, without it never;
   * `known`: heard of, may be dialled.
   */
  readonly verdict: 'connected' | 'dialling' | 'banned' | 'dropped' | 'waiting' | 'known';
  readonly direction?: 'inbound' | 'outbound';
  /** Connected or dropped since; Unix time in milliseconds. */
  readonly sinceMs?: number;
  /** Banned, or not dialled, until; Unix time in milliseconds. */
  readonly untilMs?: number;
  /** Close code of a dropped connection. */
  readonly code?: number;
  readonly reason?: string;
  /** Its roles in the configuration. */
  readonly roles: readonly PeerRole[];
  /** List of the peer book. */
  readonly list?: 'new' | 'tried';
  /** 100 for a peer that never broke a rule; at 0 it is banned. */
  readonly reputation: number;
  readonly height?: number;
  readonly version?: string;
  readonly latencyMs?: number;
}

export interface ForgingDelegate {
  readonly publicKey: PublicKey;
  readonly forging: boolean;
  /** The reason why a delegate that is switched on does not sign yet. */
  readonly waiting?: ForgingWait;
  /** The reason why this node forges for no delegate at present. */
  readonly paused?: ForgingPause;
}

export interface ForgingPause {
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Code of the fault that it comes from, where there is one, as `STORE_WRITE_FAILED`. */
  readonly cause?: string;
}

export interface ForgingWait {
  /** Stable, for example `FORGING_HAND_OVER`. */
  readonly code: string;
  readonly reason: string;
  /** Unix time in milliseconds, as far as it can be foreseen. */
  readonly untilMs?: number;
}

/** Result of handing something in. */
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
  /** Slot number since the epoch. */
  readonly nextSlot: number;
}

/** Listeners to events of the node. They must not throw, and must be quick, as the caller waits for them. */
export interface NodeListener {
  /** The log of the chain has new records. */
  chainChanged?(): void;
  /** The pool accepted a transaction, which passed verification or waits for members' signatures. */
  transactionReceived?(transaction: Transaction): void;
}

/** A value that the node's own process has at once, and that a reader asks the node for. */
export type Live<T> = T | Promise<T>;

export interface NodeApi {
  readonly params: ChainParams;
  readonly identity: NodeIdentity;
  readonly chain: ChainQueries;
  readonly log: ChainLog;
  /** @returns a function that ends the listening */
  listen(listener: NodeListener): () => void;
  /**
   * Where `chain` and `log` are of a moment that stands still: goes on to the newest one, if there is one, before the node told
   * of it.
   */
  refresh?(): void;
  status(): Live<NodeStatus>;
  /** The transaction in its generation's own JSON members. */
  transactionJson(transaction: Transaction): JsonObject;
  /** All entries of a queue, oldest first. */
  poolEntries(state: PoolState): Live<readonly PoolEntry[]>;
  /**
   * Tells the signers of a transaction of the pool; undefined for one that is not there or that no group signs.
   *
   * @param client address that asks: what the checks cost is charged to it
   * @throws ProtocolError `VERIFICATION_LIMIT` for a client that may cost no more at present
   */
  signersOf(id: string, client?: string): Live<GroupSigners | undefined>;
  /** Whether a confirmed transaction concerns a group: true for registrations and sendings of a group, else undefined. */
  readyOf(transaction: Transaction): boolean | undefined;
  /** When a transaction came into the pool, Unix milliseconds, where the node still knows it; also once it is confirmed. */
  receivedAtOf(id: string): number | undefined;
  peers(): Live<readonly PeerEntry[]>;
  /** All addresses that the node knows, connected ones first. */
  peerVerdicts(): Live<readonly PeerVerdict[]>;
  /** The next `limit` forgers from `offset` slots after the present one. */
  forgers(limit: number, offset: number): Live<Page<Forger>>;
  /** @param client address that it comes from: what its signatures cost is charged to it, refusal `VERIFICATION_LIMIT` */
  submitTransaction(json: unknown, client?: string): Promise<SubmitResult>;
  /** @param client as for `submitTransaction` */
  submitSignature(json: unknown, client?: string): Promise<SubmitResult>;
  /**
   * Builds the transaction that registers a second key, signs it and submits it. The keys are not kept.
   *
   * @param client as for `submitTransaction`
   */
  registerSecondSignature(keyPair: KeyPair, secondPublicKey: PublicKey, client?: string): Promise<SubmitResult>;
  forgingDelegates(): Live<readonly ForgingDelegate[]>;
  /**
   * Switches a configured delegate on or off.
   *
   * @throws ProtocolError `FORGING_DELEGATE_UNKNOWN`, `FORGING_PASSWORD_WRONG` or `FORGING_NOT_A_DELEGATE`, with the
   *   sentence that clients know; `FORGING_MOVED` when its record was handed to another node
   */
  setForging(publicKey: PublicKey, password: string, forging: boolean): Promise<ForgingDelegate>;
  /** All metrics of the node in the text format of Prometheus; undefined when it keeps none. */
  metricsText(): Promise<string> | undefined;
  /** What happened in the last hour or day, for charts. */
  history(span: HistorySpan): Live<NodeHistory>;
  /** The latest diagnostics, newest first. @param limit at least 1 */
  diagnostics(limit: number): Live<readonly Diagnostic[]>;
  /** What is known of slots from one on. @param count at least 1 */
  slotReport(firstSlot: number, count: number): Live<SlotReport>;
  /** SHA-256 over all consensus state, hexadecimal, with the tip it belongs to. */
  stateDigest(): { readonly height: number; readonly blockId: string; readonly digest: string };
}

/** What the process of the node itself has: nothing of it needs to be waited for, but signers, for whom signatures are checked. */
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
}
