/**
 * Defines the options of an engine, and the dependencies that the caller passes to the engine, such as the store and
 * the transport.
 */

import type { WorkShare } from '../primitives/work-share.ts';
import type { Clock, ProcessTimes, Random } from '../ports/clock.ts';
import type { FolderJournal, SigningWatermarks } from '../ports/journal.ts';
import type { NodeIdentity } from '../ports/node-api.ts';
import type { Observer } from '../ports/observer.ts';
import type { ChainStore } from '../ports/store.ts';
import type { TransactionJournal } from '../ports/transaction-journal.ts';
import type { Transport } from '../ports/transport.ts';
import type { Verifier } from '../ports/verifier.ts';
import type { Rules } from '../protocol/rules.ts';
import type { Block, PublicKey } from '../protocol/types.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { IndexDeferralOptions } from './chain.ts';
import type { GenerationProfile } from './generation-profile.ts';
import type { PeerManagerOptions } from './peers/manager.ts';

export interface EngineOptions {
  readonly identity: NodeIdentity;
  /** Platform and kernel release that the node sends to its peers. */
  readonly os: string;
  /**
   * If the block of the previous slot is late, a delegate of this node waits for that block before the delegate forges.
   * The wait ends when that block arrives. If that block does not arrive, the wait ends this number of milliseconds
   * after the start of the delegate's slot. The number is less than the block time.
   */
  readonly waitThresholdMs: number;
  /**
   * Interval in milliseconds at which the engine calls `TransactionPool.step`. The name comes from an option of Lisk
   * Core.
   */
  readonly broadcastIntervalMs: number;
  readonly transactionsPerQueueMax: number;
  /**
   * If true, a delegate signs a header if the header contradicts neither the last header in the signing journal of this
   * node's data folder nor the newest block of the delegate on the chain. If another node also signs for the delegate,
   * the delegate can then sign two headers that contradict each other (double forging).
   */
  readonly riskDoubleForging: boolean;
  /**
   * If false, this node asks its peers not to send the node's address to other nodes. The default is true. In
   * generation 2, the option has no effect.
   */
  readonly advertiseAddress?: boolean;
  readonly peers: PeerManagerOptions;
  /**
   * Public keys of delegates whose slot outcomes (forged, missed or reverted) the node always reports. For all other
   * delegates, the node reports slot outcomes only while their forging is enabled on this node.
   */
  readonly ownDelegates?: Iterable<PublicKey>;
  /**
   * True if the operator configured peers, by address or by host name. The default is true if `peers` contains a fixed
   * peer or a seed peer.
   */
  readonly expectsPeers?: boolean;
  /** If false, the node dials no peers. The default is true. */
  readonly dialsPeers?: boolean;
  /**
   * Settings that control how the node works but are not rules of the chain, for example the maximum number of blocks
   * in an answer to a peer. A setting that is absent here has its value from `DEFAULT_PROFILE`
   * (`generation-profile.ts`).
   */
  readonly profile?: Partial<GenerationProfile>;
}

/** The TCP ports at which this node can be reached. The node sends these ports to its peers. */
export interface ListeningPorts {
  readonly wsPort: number;
  /** Port of the HTTP server; 0 if HTTP is off. */
  readonly httpPort: number;
}

export interface EngineDependencies {
  /** Store of the chain. If the store is empty, the engine applies the genesis block. */
  readonly store: ChainStore;
  /** Options of deferred indexing. If this member is absent, each commit writes all index entries of its blocks. */
  readonly deferral?: IndexDeferralOptions | undefined;
  /** See `ChainDependencies.onProgress` (`chain.ts`). */
  readonly onProgress?: (() => void) | undefined;
  readonly rules: Rules;
  readonly genesis: Block;
  readonly verifier: Verifier;
  readonly transport: Transport;
  /** Process clock, for time limits, pauses and rate limits. */
  readonly clock: Clock;
  /**
   * Clocks that show whether the system clock was set or the machine was suspended. Without these clocks, the node does
   * not notice these two events.
   */
  readonly times?: ProcessTimes;
  /** Clock of the chain, for slots and timestamps; `clock` by default. */
  readonly chainClock?: Clock | undefined;
  /**
   * While this function returns true, forging is suspended: delegates forge only in calls of
   * `ForgingScheduler.forgeNow`. By default, forging is never suspended.
   */
  readonly isForgingSuspended?: (() => boolean) | undefined;
  /**
   * The budget of main-thread time for answers to peers. The caller can also use this budget for other work. By
   * default, the engine creates a budget that only the answers to peers use.
   */
  readonly workShare?: WorkShare;
  readonly random: Random;
  readonly journal: FolderJournal;
  /**
   * The signing watermarks, which the node stores outside the data folder; undefined if the node stores no watermarks.
   * A watermark contains the newest signed header of a delegate. If `riskDoubleForging` is true, the engine updates
   * existing watermarks, but a watermark never prevents a signature.
   */
  readonly watermarks?: SigningWatermarks | undefined;
  /**
   * Stores the transactions that the node accepted from clients. By default, these transactions are in memory only, and
   * the node loses these transactions when the node stops.
   */
  readonly transactionJournal?: TransactionJournal;
  readonly observer: Observer;
  /**
   * Stores the diagnostics of the engine. Modules outside the engine can use the same object. By default, the engine
   * creates its own object.
   */
  readonly diagnostics?: Diagnostics;
}
