/** The ports that an engine runs over, and the options of its operator. */

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
import type { GenerationProfile } from './generation-profile.ts';
import type { PeerManagerOptions } from './peers/manager.ts';

export interface EngineOptions {
  readonly identity: NodeIdentity;
  /** Platform and kernel release, as peers are told. */
  readonly os: string;
  /** After a missed slot, time that its late block is given; below the block time. */
  readonly waitThresholdMs: number;
  readonly broadcastIntervalMs: number;
  readonly transactionsPerQueueMax: number;
  /** Whether delegates sign by the journal alone, whatever they may have signed elsewhere. */
  readonly riskDoubleForging: boolean;
  /** False asks peers not to tell others the address of this node. */
  readonly advertiseAddress?: boolean;
  readonly peers: PeerManagerOptions;
  /** Public keys of delegates whose slots are told of, whether they are switched on here or not. */
  readonly ownDelegates?: Iterable<PublicKey>;
  /** Whether the operator named peers, if only by a host name: true when an address is given unless told. */
  readonly expectsPeers?: boolean;
  /** Differences from `DEFAULT_PROFILE`. */
  readonly profile?: Partial<GenerationProfile>;
}

/** The ports at which the node can be reached, as it tells peers. */
export interface ListeningPorts {
  readonly wsPort: number;
  /** 0 when HTTP is off. */
  readonly httpPort: number;
}

export interface EngineDependencies {
  /** May be empty: the genesis block is applied then. */
  readonly store: ChainStore;
  readonly rules: Rules;
  readonly genesis: Block;
  readonly verifier: Verifier;
  readonly transport: Transport;
  /** Measures waits and rates. */
  readonly clock: Clock;
  /** Shows that the clock was set or the machine slept; neither is noticed unless given. */
  readonly times?: ProcessTimes;
  /** Gives the time of the chain, for slots and timestamps; `clock` unless given. */
  readonly chainClock?: Clock | undefined;
  /** Whether delegates leave their slots empty until `forgeNow` is called; they fill them unless given. */
  readonly isForgingHeld?: (() => boolean) | undefined;
  /** Time of the main thread that answers to peers may take, shared with other parts of the node; one of its own unless told. */
  readonly workShare?: WorkShare;
  readonly random: Random;
  readonly journal: FolderJournal;
  /** Where they are kept, if anywhere. Asked only where delegates do not sign by the journal alone. */
  readonly watermarks?: SigningWatermarks | undefined;
  /** Where transactions are kept that were accepted; in memory unless given. */
  readonly transactionJournal?: TransactionJournal;
  readonly observer: Observer;
}
