/**
 * Keeps up with the network: notices that a peer holds a chain to be preferred and follows it, one peer at a time, until no
 * better chain is announced.
 *
 * A run is started by a received block that does not fit, or by a peer that has been announcing a better tip for a while
 * (on a quiet network nobody sends a block, so waiting for one can mean waiting for ever).
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
import { Blame } from './blame.ts';
import { Candidates } from './candidates.ts';
import { type Claim, Claims } from './claims.ts';
import { follow } from './follow.ts';
import { ProgressMeter } from './progress.ts';
import { Backoff } from './backoff.ts';
import { unlessOthersWait } from './unproved.ts';

/** Interval between two checks of announced tips. */
const CHECK_INTERVAL_MS = 1000;
/** Interval between two log lines about the progress of a download. */
const PROGRESS_INTERVAL_MS = 10_000;
/** Peers tried in one run before it gives up until the next check. */
const PEERS_PER_RUN_MAX = 5;
/** Failures in a row after which a block alone does not start a sync with a peer any more. */
const FAILURES_TRUSTED = 1;
/**
 * Longest time that forging waits for a peer to prove a better chain. Also the time for each answer of a peer that has proved
 * nothing, while another peer waits.
 */
const PROOF_MS = 3000;
/** Slots without a block after which our chain may well be behind, so that a claim is likelier true. */
const STALE_SLOTS = 3;
/** Share of a slot for which a claim may delay our block, which must reach the other nodes within its slot. */
const SLOT_SHARE_WAITED = 1 / 4;
/** Pause between two batches after which a download no longer counts as one. */
const STALL_MS = 10_000;
/** Time after which a stranger with an unproved branch is given up for a peer that we dialled and whose tip is better, too. */
const STRANGER_MS = 30_000;

export interface SynchronizerDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request' | 'connections'>;
  readonly clock: Clock;
  /** The clock of the slots; `clock` by default. */
  readonly chainClock?: Pick<Clock, 'nowMs'>;
  readonly random: Random;
  readonly observer: Observer;
  readonly profile: Pick<GenerationProfile, 'isTipAsked' | 'rivalsAtOurHeight'>;
  /** Broadhash of our chain. */
  readonly broadhash: () => string;
  /** A number that the peers of one netgroup share. */
  readonly netgroupOf: (peerId: PeerId) => number;
  /** Reports a peer that lied to the peer manager. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /** Called when a run has ended, whatever its result. */
  readonly ended: () => void;
}

/** The tip of a chain that a peer claims to have, as it sent it. */
export type ShownTip = AnnouncedTip & Pick<BlockHeader, 'generatorPublicKey'>;

export class Synchronizer {
  readonly #chain: Chain;
  readonly #transport: Pick<Transport, 'request' | 'connections'>;
  readonly #clock: Clock;
  readonly #chainClock: Pick<Clock, 'nowMs'>;
  readonly #observer: Observer;
  readonly #ended: SynchronizerDependencies['ended'];
  readonly #backoff: Backoff;
  readonly #claims: Claims;
  readonly #blame: Blame;
  readonly #profile: SynchronizerDependencies['profile'];
  readonly #candidates: Candidates;
  readonly #meter = new ProgressMeter();
  /** The peer that is followed or was last. */
  #leader: PeerId | undefined;
  #progressToldMs = 0;
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = true;
  /** Unix times in milliseconds: until when a claim is waited for, and of the last block that the run brought. */
  #waitedUntilMs = -Infinity;
  #lastProgressMs = -Infinity;
  /** Whether the peer that is followed has brought blocks. */
  #hasProved = false;
  /** Tip at the last check: a better announcement counts only when a whole interval brought us nothing. */
  #tipAtLastCheck = '';

  constructor(dependencies: SynchronizerDependencies) {
    this.#chain = dependencies.chain;
    this.#transport = dependencies.transport;
    this.#clock = dependencies.clock;
    this.#chainClock = dependencies.chainClock ?? dependencies.clock;
    this.#observer = dependencies.observer;
    this.#ended = dependencies.ended;
    this.#backoff = new Backoff(dependencies.clock);
    this.#blame = new Blame({
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
   * True while blocks are being taken over; no block is forged or gossiped then. A peer's mere word that it has a better
   * chain counts only where ours has stood still for some slots, and for a moment.
   */
  get syncing(): boolean {
    if (this.#run === undefined) return false;
    const nowMs = this.#clock.nowMs();
    return nowMs < this.#lastProgressMs + STALL_MS || (this.#isStale && nowMs < this.#waitedUntilMs);
  }

  /**
   * Time of the chain's clock in milliseconds until which a block of ours of the present slot waits, because somebody claims to
   * have a better chain: a block on a tip that is about to be left would be lost. It is early enough to forge in that slot all
   * the same.
   */
  get forgingWaitUntilMs(): number {
    if (this.#run === undefined) return -Infinity;
    const { params } = this.#chain.rules;
    const startMs = slotStartMs(this.#chain.currentSlot(), params);
    const aheadMs = this.#chainClock.nowMs() - this.#clock.nowMs();
    return Math.min(this.#waitedUntilMs + aheadMs, startMs + params.blockTimeS * 1000 * SLOT_SHARE_WAITED);
  }

  /** The progress of the download; undefined when none is under way. */
  get progress(): SyncProgress | undefined {
    if (this.#run === undefined || this.#leader === undefined) return undefined;
    const leader = this.#transport.connections().find(({ peerId }) => peerId === this.#leader);
    return this.#meter.read(leader?.info.height ?? 0);
  }

  start(): void {
    this.#stopped = false;
    this.#chain.listen({
      applied: (blocks, origin) => {
        if (origin !== 'synced') return;
        this.#hasProved = true;
        const nowMs = this.#clock.nowMs();
        this.#meter.observe(blocks.at(-1)?.height ?? 0, nowMs);
        // Who gives the newest block there can be leaves nothing to wait for, however soon he promises the next.
        this.#lastProgressMs = this.#isCurrent(blocks.at(-1)) ? -Infinity : nowMs;
      },
    });
    this.#arm();
  }

  /** Resolves when a run under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#run;
  }

  /**
   * Starts a run. Does nothing while one is under way.
   *
   * @param peerId one that says to have a better chain, to be asked first
   * @param shown that chain's tip, when the peer has sent it
   */
  trigger(peerId?: PeerId, shown?: ShownTip): void {
    if (this.#stopped || this.#run !== undefined) return;
    // What cannot be kept is not downloaded: the same blocks would be asked for again and again.
    if (this.#chain.disk.checkWritable() !== undefined) return;
    const isTrusted = peerId !== undefined && this.#backoff.failures(peerId) <= FAILURES_TRUSTED;
    let claim = isTrusted ? this.#claimOf(peerId, shown) : undefined;
    // A block that is doubted calls us to nobody but to peers that we chose ourselves, if they say to have a better chain, too.
    if (claim !== undefined && shown !== undefined && !this.#claims.isHeard(claim)) {
      if (this.#candidates.dialled(new Set()).length === 0) return;
      claim = undefined;
    }
    this.#lastProgressMs = -Infinity;
    this.#waitedUntilMs = -Infinity;
    this.#run = this.#synchronise(claim)
      .catch((error: unknown) => {
        this.#observer.log('error', 'SYNC_FAILED', 'synchronisation ended with an error', {
          reason: messageOf(error),
          cause: codeOf(error),
        });
      })
      .finally(() => {
        this.#run = undefined;
        this.#ended();
      });
  }

  /** Whether a block is as new as the tip of a network can be: of this slot or the one before. */
  #isCurrent(block: BlockHeader | undefined): boolean {
    if (block === undefined) return false;
    return slotAt(block.timestamp, this.#chain.rules.params) >= this.#chain.currentSlot() - 1;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(CHECK_INTERVAL_MS, () => {
      this.#check();
      this.#tellProgress();
      this.#arm();
    });
  }

  #check(): void {
    const tipId = this.#chain.tip.header.id;
    const unchanged = tipId === this.#tipAtLastCheck;
    this.#tipAtLastCheck = tipId;
    if (unchanged && this.#run === undefined && this.#candidates.exist) this.trigger();
  }

  #tellProgress(): void {
    const { progress } = this;
    const nowMs = this.#clock.nowMs();
    if (progress === undefined || nowMs - this.#progressToldMs < PROGRESS_INTERVAL_MS) return;
    this.#progressToldMs = nowMs;
    const { height } = this.#chain.tip.header;
    this.#observer.log('info', 'SYNC_PROGRESS', 'downloading blocks', { height, ...progress });
  }

  async #synchronise(first: Claim | undefined): Promise<void> {
    const tried = new Set<PeerId>();
    // A stranger's word counts less than that of a peer that we chose ourselves.
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

  /** Follows one peer and keeps in mind what its claim was worth. @returns true when our tip is its tip now */
  async #look(claim: Claim, tried: ReadonlySet<PeerId>): Promise<boolean> {
    const { peerId } = claim;
    let isAhead = false;
    let hasFailed = false;
    this.#leader = peerId;
    this.#hasProved = false;
    const nowMs = this.#clock.nowMs();
    this.#progressToldMs = nowMs;
    this.#meter.begin(this.#chain.tip.header.height, nowMs);
    this.#waitedUntilMs = this.#claims.isWaitedFor(claim) ? nowMs + PROOF_MS : -Infinity;
    try {
      isAhead = await follow(peerId, claim.signer !== undefined, {
        chain: this.#chain,
        transport: { request: (to, request) => this.#ask(to, request, tried) },
        clock: this.#clock,
        observer: this.#observer,
        helpers: (leader) => this.#candidates.helpersOf(leader),
        peerFailed: (other, error) => {
          if (other === peerId) hasFailed = true;
          this.#blame.helperFailed(other, error);
        },
        isTipAsked: this.#profile.isTipAsked,
        isStopped: () => this.#stopped,
        othersWait: (waitedMs) => waitedMs > STRANGER_MS && this.#candidates.isStrangerInTheWay(peerId),
      });
      // It announced more than it gave.
      if (!isAhead) this.#backoff.fail(peerId);
      // Blocks of its helpers are none of its merits.
      else if (!hasFailed) this.#backoff.clear(peerId);
    } catch (error) {
      this.#blame.leaderFailed(peerId, error);
    }
    this.#waitedUntilMs = -Infinity;
    if (this.#hasProved) this.#claims.proved(claim);
    else if (this.#isStillBetter(claim)) this.#claims.failed(claim);
    return isAhead;
  }

  /** Whether a claim is of a better chain than ours even now: else it was true, and came another way. */
  #isStillBetter({ tip }: Claim): boolean {
    return tip === undefined || this.#chain.rules.prefersTip(tip, this.#chain.tip.header);
  }

  /** Asks a peer. One that has proved nothing must answer within moments where another wants to be heard. */
  #ask<R extends PeerRequest>(peerId: PeerId, request: R, tried: ReadonlySet<PeerId>): Promise<AnswerTo<R>> {
    const answer = this.#transport.request(peerId, request);
    if (this.#hasProved) return answer;
    const isAnotherWaiting = (): boolean => !this.#hasProved && this.#candidates.isAnotherWaiting(peerId, tried);
    const refusal = (): Error => new ProtocolError('SYNC_CLAIM_UNPROVED', { peer: peerId, request: request.kind });
    return unlessOthersWait(answer, this.#clock, PROOF_MS, isAnotherWaiting, refusal);
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

  get #isStale(): boolean {
    const { tip, rules } = this.#chain;
    return this.#chain.currentSlot() - slotAt(tip.header.timestamp, rules.params) > STALE_SLOTS;
  }
}
