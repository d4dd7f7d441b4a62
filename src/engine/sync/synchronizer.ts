/**
 * Brings our chain up to date with the network. A run of the synchronizer syncs from the peers that claim a better
 * chain, one peer at a time. The sync peer is the peer from which the run syncs at present.
 *
 * A run starts when a peer sends a block that is the tip of a better chain. A run also starts when a peer with a better
 * tip connects. If our tip has not changed for about a second, a run also starts when a peer announces a better tip.
 * Announced tips must be able to start a run, because a node receives no blocks while no delegate of the network
 * forges.
 */

import { codeOf, messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { AnswerTo, PeerId, PeerRequest, Transport } from '../../ports/transport.ts';
import type { SyncProgress } from '../../ports/node-api.ts';
import { roundOf } from '../../protocol/rounds.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import { slotAt, slotStartMs } from '../../protocol/slots.ts';
import type { BlockHeader } from '../../protocol/types.ts';
import type { Chain } from '../chain.ts';
import type { GenerationProfile } from '../generation-profile.ts';
import { SyncFailures } from './sync-failures.ts';
import { Candidates, type PeerTip } from './candidates.ts';
import { type Claim, Claims } from './claims.ts';
import { syncFromPeer } from './sync-from-peer.ts';
import { ProgressMeter } from './progress.ts';
import { Backoff } from './backoff.ts';
import { withProofTimeout } from './proof-timeout.ts';

/** Time in milliseconds between two checks of announced tips. */
const CHECK_INTERVAL_MS = 1000;
/** Time in milliseconds between two log lines about the progress of a download. */
const PROGRESS_INTERVAL_MS = 10_000;
/**
 * A run counts the peers from which it has tried to sync, and ends at the latest when the count reaches this number. A
 * successful sync sets the count back to 1: from then on, only the peer of this sync and the peers tried after it
 * count. The next check of announced tips can start a new run.
 */
const PEERS_PER_RUN_MAX = 5;
/**
 * A run begins with the peer that triggered the run only if this peer has caused at most this number of failed syncs in
 * a row (`Backoff.failures`).
 */
const FAILURES_TRUSTED = 1;
/**
 * Maximum time in milliseconds for which forging waits for a peer to prove a better chain. A peer proves its claim by
 * sending blocks that this node applies. Until the sync peer has proved its claim, the answer to each request of the
 * sync must also arrive within this time. The limit for an answer applies only if a peer other than the asked peer also
 * claims a better chain. If we dialled the asked peer, the claims of inbound peers do not count.
 */
const PROOF_MS = 3000;
/**
 * If our tip is older than this number of slots, our chain is probably behind the network, so a claim of a better chain
 * is credible. In this case, `syncing` is also true during the time for which forging waits for the proof of the claim.
 */
const STALE_SLOTS = 3;
/**
 * In its own slot, a delegate of this node waits for the proof of a claim for at most this share of the slot. In the
 * rest of the slot, the delegate forges its block, and the block must reach the other nodes.
 */
const SLOT_SHARE_WAITED = 1 / 4;
/** A run counts as a download (see `syncing`) for this time in milliseconds after the run last applied blocks. */
const STALL_MS = 10_000;
/**
 * Maximum total time in milliseconds for which the node waits for the blocks of an inbound peer whose branch has not
 * proved to be better. After this time, the node gives up the sync with the peer. The limit applies only while a peer
 * that the node dialled also claims a better chain.
 */
const STRANGER_MS = 30_000;

export interface SynchronizerDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request' | 'connections'>;
  readonly clock: Clock;
  /** The clock of the chain, from which the node computes slots; `clock` by default. */
  readonly chainClock?: Pick<Clock, 'nowMs'>;
  readonly random: Random;
  readonly observer: Observer;
  readonly profile: Pick<GenerationProfile, 'isTipAsked' | 'rivalsAtOurHeight'>;
  /** Returns the broadhash of our chain: a hash of the ids of its highest five blocks (`chain-broadhash.ts`). */
  readonly broadhash: () => string;
  /** Returns the number of a peer's netgroup. All peers of one netgroup have the same number. */
  readonly netgroupOf: (peerId: PeerId) => number;
  /** Tells the peer manager that a peer lied or sent an invalid branch. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /** Called when a run has ended, whether it succeeded or failed. */
  readonly onSyncEnd: () => void;
}

/** The tip of a chain that a peer claims to have, read from a block that this peer has sent. */
export type ShownTip = AnnouncedTip & Pick<BlockHeader, 'generatorPublicKey'>;

export class Synchronizer {
  readonly #chain: Chain;
  readonly #transport: Pick<Transport, 'request' | 'connections'>;
  readonly #clock: Clock;
  readonly #chainClock: Pick<Clock, 'nowMs'>;
  readonly #observer: Observer;
  readonly #onSyncEnd: SynchronizerDependencies['onSyncEnd'];
  readonly #backoff: Backoff;
  readonly #claims: Claims;
  readonly #failures: SyncFailures;
  readonly #profile: SynchronizerDependencies['profile'];
  readonly #candidates: Candidates;
  readonly #meter = new ProgressMeter();
  /** The peer from which the node syncs, or last synced. */
  #syncPeer: PeerId | undefined;
  /** The newest tip that the sync peer announced. The node keeps this tip after the peer has disconnected. */
  #syncPeerTip: PeerTip | undefined;
  #progressLoggedMs = 0;
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = true;
  /**
   * Time of `#clock` in milliseconds until which forging waits for the proof of the current claim; -Infinity if forging
   * does not wait.
   */
  #waitedUntilMs = -Infinity;
  /**
   * Time of `#clock` in milliseconds when this run last applied blocks. The value is -Infinity if the run has applied
   * no blocks. The value is also -Infinity if the newest applied block was in the current or the previous slot when the
   * run applied this block, because the download has then ended.
   */
  #lastProgressMs = -Infinity;
  /**
   * True if this node has applied downloaded blocks since it began to sync from the current sync peer. If true, the
   * sync peer has proved its claim.
   */
  #hasProved = false;
  /**
   * Id of our tip at the last check of announced tips. A check starts a run only if our tip has not changed since the
   * previous check.
   */
  #tipAtLastCheck = '';

  constructor(dependencies: SynchronizerDependencies) {
    this.#chain = dependencies.chain;
    this.#transport = dependencies.transport;
    this.#clock = dependencies.clock;
    this.#chainClock = dependencies.chainClock ?? dependencies.clock;
    this.#observer = dependencies.observer;
    this.#onSyncEnd = dependencies.onSyncEnd;
    this.#backoff = new Backoff(dependencies.clock);
    this.#failures = new SyncFailures({
      observer: dependencies.observer,
      backoff: this.#backoff,
      rivalsAtOurHeight: dependencies.profile.rivalsAtOurHeight,
      penalise: dependencies.penalise,
    });
    this.#claims = new Claims({
      clock: dependencies.clock,
      netgroupOf: dependencies.netgroupOf,
      round: () => roundOf(this.#chain.tip.header.height + 1, this.#chain.rules.params),
    });
    this.#profile = dependencies.profile;
    this.#candidates = new Candidates({
      chain: dependencies.chain,
      transport: dependencies.transport,
      random: dependencies.random,
      backoff: this.#backoff,
      rivalsAtOurHeight: dependencies.profile.rivalsAtOurHeight,
      broadhash: dependencies.broadhash,
    });
  }

  /**
   * True while the node downloads blocks. The node downloads blocks if the current run applied blocks less than
   * `STALL_MS` ago, and the newest of these blocks was older than the previous slot at that time. Also true while a run
   * writes missing index entries of downloaded blocks. If our tip is older than `STALE_SLOTS` slots, the value is also
   * true while forging waits for the proof of the sync peer's claim (up to `PROOF_MS`). While the value is true, the
   * node does not forge, gossip blocks, announce its tip or request newly announced transactions.
   */
  get syncing(): boolean {
    if (this.#run === undefined) return false;
    if (this.#chain.isCompletingIndexes) return true;
    const nowMs = this.#clock.nowMs();
    return nowMs < this.#lastProgressMs + STALL_MS || (this.#isStale && nowMs < this.#waitedUntilMs);
  }

  /**
   * Time, in Unix milliseconds, until which forging waits for the proof of a claim; -Infinity if forging does not wait.
   * The time is a time of the chain clock, the clock from which the node computes slots. Forging waits because a block
   * that we forge on our tip is lost if the claimed chain then replaces our tip. The wait ends after
   * `SLOT_SHARE_WAITED` of the current slot at the latest, so a delegate can still forge in this slot.
   */
  get forgingWaitUntilMs(): number {
    if (this.#run === undefined) return -Infinity;
    const { params } = this.#chain.rules;
    const startMs = slotStartMs(this.#chain.currentSlot(), params);
    const aheadMs = this.#chainClock.nowMs() - this.#clock.nowMs();
    return Math.min(this.#waitedUntilMs + aheadMs, startMs + params.blockTimeS * 1000 * SLOT_SHARE_WAITED);
  }

  /** The progress of the current run; undefined if no run is active. */
  get progress(): SyncProgress | undefined {
    if (this.#run === undefined || this.#syncPeer === undefined) return undefined;
    return this.#meter.read(this.#refreshedSyncPeerTip(this.#syncPeer)?.height ?? 0);
  }

  start(): void {
    this.#stopped = false;
    this.#chain.listen({
      applied: (blocks, origin) => {
        if (origin !== 'synced') return;
        this.#hasProved = true;
        const nowMs = this.#clock.nowMs();
        this.#meter.observe(blocks.at(-1)?.height ?? 0, nowMs);
        // If the newest applied block is in the current or the previous slot, the peer has at most one newer block,
        // even if the peer announces a higher tip. The download therefore counts as ended.
        this.#lastProgressMs = this.#isCurrent(blocks.at(-1)) ? -Infinity : nowMs;
      },
    });
    this.#arm();
  }

  /** Stops the synchronizer. Resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#run;
  }

  /**
   * Starts a run. Does nothing if the synchronizer is stopped, a run is active, or writes to the disk fail. Also does
   * nothing if two conditions hold: the node ignores the claim of a received block (see `shown`), and no dialled peer
   * claims a better chain.
   *
   * @param peerId peer that claims a better chain. The run asks this peer first, unless this peer is inbound and a
   *   dialled peer also claims a better chain. If this peer has caused more than `FAILURES_TRUSTED` failed syncs
   *   in a row, the run chooses its first peer by the announced tips instead
   * @param shown the tip of the claimed chain if the peer has sent the block of this tip; undefined if the peer has
   *   only announced the tip. If `shown` is given, the node ignores the claim in two cases (see `claims.ts`). First,
   *   an earlier claim has failed in the present round of delegates, and the same delegate signed the tips of both
   *   claims. Second, the peer is inbound, and a claim of a peer of the same netgroup has failed. For a limited time
   *   after this failure, the node ignores every claim with `shown` of an inbound peer of this netgroup
   */
  trigger(peerId?: PeerId, shown?: ShownTip): void {
    if (this.#stopped || this.#run !== undefined) return;
    // The node does not sync while writes to the disk fail. The node could not store the blocks, and would download the
    // same blocks again and again.
    if (this.#chain.disk.checkWritable() !== undefined) return;
    const isTrusted = peerId !== undefined && this.#backoff.failures(peerId) <= FAILURES_TRUSTED;
    let claim = isTrusted ? this.#claimOf(peerId, shown) : undefined;
    // If `shown` is given, the peer has claimed a better chain by sending a block. If the node ignores this claim, a
    // run starts only if a dialled peer claims a better chain. In this case, the run begins with a dialled peer.
    if (claim !== undefined && shown !== undefined && !this.#claims.isHeard(claim)) {
      if (this.#candidates.dialled(new Set()).length === 0) return;
      claim = undefined;
    }
    this.#lastProgressMs = -Infinity;
    this.#waitedUntilMs = -Infinity;
    this.#run = this.#synchronise(claim)
      .finally(() => this.#chain.completeIndexes())
      .catch((error: unknown) => {
        this.#observer.log('error', 'SYNC_FAILED', 'synchronisation ended with an error', {
          reason: messageOf(error),
          cause: codeOf(error),
        });
      })
      .finally(() => {
        this.#run = undefined;
        this.#onSyncEnd();
      });
  }

  /** Returns true if a block is in the previous slot, in the current slot or in a later slot. */
  #isCurrent(block: BlockHeader | undefined): boolean {
    if (block === undefined) return false;
    return slotAt(block.timestamp, this.#chain.rules.params) >= this.#chain.currentSlot() - 1;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(CHECK_INTERVAL_MS, () => {
      this.#check();
      this.#logProgress();
      this.#arm();
    });
  }

  #check(): void {
    const tipId = this.#chain.tip.header.id;
    const unchanged = tipId === this.#tipAtLastCheck;
    this.#tipAtLastCheck = tipId;
    if (unchanged && this.#run === undefined && this.#candidates.exist) this.trigger();
  }

  #logProgress(): void {
    const { progress } = this;
    const nowMs = this.#clock.nowMs();
    if (progress === undefined || nowMs - this.#progressLoggedMs < PROGRESS_INTERVAL_MS) return;
    this.#progressLoggedMs = nowMs;
    const { height } = this.#chain.tip.header;
    this.#observer.log('info', 'SYNC_PROGRESS', 'downloading blocks', { height, ...progress });
  }

  async #synchronise(first: Claim | undefined): Promise<void> {
    const tried = new Set<PeerId>();
    // If a dialled peer claims a better chain, the run checks this claim before the claim of an inbound peer.
    const isFirstBest = first?.direction === 'outbound' || this.#candidates.dialled(tried).length === 0;
    let claim = first !== undefined && isFirstBest ? first : this.#nextClaim(tried, true);
    let isDialledNext = claim?.direction !== 'outbound';
    while (!this.#stopped && claim !== undefined && tried.size < PEERS_PER_RUN_MAX) {
      if (await this.#look(claim, tried)) tried.clear();
      tried.add(claim.peerId);
      claim = this.#nextClaim(tried, isDialledNext);
      isDialledNext = !isDialledNext;
    }
  }

  /**
   * Syncs from one peer, and records whether the peer's claim was true.
   *
   * @returns true if the sync ended without an error and our tip changed
   */
  async #look(claim: Claim, tried: ReadonlySet<PeerId>): Promise<boolean> {
    const { peerId } = claim;
    let isAhead = false;
    let hasFailed = false;
    this.#syncPeer = peerId;
    this.#syncPeerTip = undefined;
    this.#refreshedSyncPeerTip(peerId);
    this.#hasProved = false;
    const nowMs = this.#clock.nowMs();
    this.#progressLoggedMs = nowMs;
    this.#meter.begin(this.#chain.tip.header.height, nowMs);
    this.#waitedUntilMs = this.#claims.isWaitedFor(claim) ? nowMs + PROOF_MS : -Infinity;
    try {
      isAhead = await syncFromPeer(peerId, claim.signer !== undefined, {
        chain: this.#chain,
        transport: { request: (to, request) => this.#ask(to, request, tried) },
        clock: this.#clock,
        observer: this.#observer,
        sameTipPeers: (syncPeer) => this.#candidates.sameTipPeersOf(syncPeer, this.#refreshedSyncPeerTip(syncPeer)),
        isSyncPeerConnected: () => this.#candidates.tipOf(peerId) !== undefined,
        peerFailed: (other, error) => {
          if (other === peerId) hasFailed = true;
          this.#failures.sameTipPeerFailed(other, error);
        },
        isTipAsked: this.#profile.isTipAsked,
        isStopped: () => this.#stopped,
        othersWait: (waitedMs) => waitedMs > STRANGER_MS && this.#candidates.isStrangerInTheWay(peerId),
      });
      // If `isAhead` is false, the peer claimed a better chain than ours, but did not send this chain.
      if (!isAhead) this.#backoff.fail(peerId);
      // If the sync peer failed during the sync, same-tip peers sent the blocks in its place. In this case, the node
      // does not clear the backoff of the sync peer.
      else if (!hasFailed) this.#backoff.clear(peerId);
    } catch (error) {
      this.#failures.syncPeerFailed(peerId, error);
    }
    this.#waitedUntilMs = -Infinity;
    if (this.#hasProved) this.#claims.proved(claim);
    else if (this.#isStillBetter(claim)) this.#claims.failed(claim);
    return isAhead;
  }

  /**
   * Returns true if the claimed tip is still better than ours, or if the claimed tip is unknown. If our chain has
   * become as good as the claimed chain, the claim does not count as failed: it is possible that other peers have sent
   * the claimed blocks.
   */
  #isStillBetter({ tip }: Claim): boolean {
    return tip === undefined || this.#chain.rules.prefersTip(tip, this.#chain.tip.header);
  }

  /**
   * Sends a request to a peer. Until the answer arrives, the node checks two conditions every `PROOF_MS`. First, the
   * sync peer has not proved its claim yet. Second, a peer other than the asked peer also claims a better chain. If
   * both conditions hold, the request fails. If we dialled the asked peer, the claims of inbound peers do not count.
   */
  #ask<R extends PeerRequest>(peerId: PeerId, request: R, tried: ReadonlySet<PeerId>): Promise<AnswerTo<R>> {
    const answer = this.#transport.request(peerId, request);
    if (this.#hasProved) return answer;
    const isAnotherWaiting = (): boolean => !this.#hasProved && this.#candidates.isAnotherWaiting(peerId, tried);
    const refusal = (): Error => new ProtocolError('SYNC_CLAIM_UNPROVED', { peer: peerId, request: request.kind });
    return withProofTimeout(answer, this.#clock, PROOF_MS, isAnotherWaiting, refusal);
  }

  #nextClaim(tried: ReadonlySet<PeerId>, preferDialled: boolean): Claim | undefined {
    const peerId = this.#candidates.choose(tried, preferDialled);
    return peerId === undefined ? undefined : this.#claimOf(peerId);
  }

  #claimOf(peerId: PeerId, shown?: ShownTip): Claim {
    const connection = this.#transport.connections().find((each) => each.peerId === peerId);
    const { height, maxHeightPrevoted = 0 } = shown ?? connection?.info ?? {};
    return {
      peerId,
      direction: connection?.direction ?? 'inbound',
      signer: shown?.generatorPublicKey,
      tip: height === undefined ? undefined : { height, maxHeightPrevoted },
    };
  }

  /**
   * Returns the tip that the sync peer announces. If the sync peer is disconnected, returns the tip that the sync peer
   * last announced.
   */
  #refreshedSyncPeerTip(syncPeer: PeerId): PeerTip | undefined {
    this.#syncPeerTip = this.#candidates.tipOf(syncPeer) ?? this.#syncPeerTip;
    return this.#syncPeerTip;
  }

  get #isStale(): boolean {
    const { tip, rules } = this.#chain;
    return this.#chain.currentSlot() - slotAt(tip.header.timestamp, rules.params) > STALE_SLOTS;
  }
}
