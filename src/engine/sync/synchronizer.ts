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
import type { PeerId, Transport } from '../../ports/transport.ts';
import type { SyncProgress } from '../../ports/node-api.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { BlockHeader } from '../../protocol/types.ts';
import { BlockRejected, isByClock } from '../../protocol/verdict.ts';
import type { Chain } from '../chain.ts';
import { BranchRejected } from '../commit.ts';
import type { Customs } from '../customs.ts';
import { Candidates } from './candidates.ts';
import { follow } from './follow.ts';
import { ProgressMeter } from './progress.ts';
import { Rests } from './rests.ts';

/** How often announced tips are looked at. */
const CHECK_INTERVAL_MS = 1000;
/** How often a download says in the log how far it is. */
const PROGRESS_INTERVAL_MS = 10_000;
/** Peers tried in one run before it gives up until the next check. */
const PEERS_PER_RUN_MAX = 5;
/** After so many failures in a row a block alone does not call us to a peer any more. */
const FAILURES_TRUSTED = 1;
/** Time that a peer has to prove a better chain before we go on as if nobody had claimed one. */
const PROOF_MS = 3000;
/** Pause between two batches after which a download no longer counts as one. */
const STALL_MS = 10_000;
/** After a claim that came to nothing, time for which further claims alone stop neither forging nor gossip. */
const DOUBT_MS = 60_000;
/** Waiting after which a stranger with an unproved branch makes room for a peer that we dialled and that has a better tip, too. */
const STRANGER_MS = 30_000;
/** What only a liar can have done: it ends the conversation. */
const LIES: ReadonlySet<string> = new Set(['SYNC_BLOCKS_UNLINKED', 'SYNC_NO_COMMON_BLOCK']);

export interface SynchronizerDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request' | 'connections'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  readonly customs: Pick<Customs, 'isTipAsked' | 'rivalsAtOurHeight'>;
  /** Broadhash of our chain. */
  readonly broadhash: () => string;
  /** Tells the keeper of peers that one misled us. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
  /** Told when a run has ended, whatever came of it. */
  readonly ended: () => void;
}

export class Synchronizer {
  readonly #chain: Chain;
  readonly #transport: Pick<Transport, 'request' | 'connections'>;
  readonly #clock: Clock;
  readonly #observer: Observer;
  readonly #penalise: SynchronizerDependencies['penalise'];
  readonly #ended: SynchronizerDependencies['ended'];
  readonly #rests: Rests;
  readonly #customs: SynchronizerDependencies['customs'];
  readonly #candidates: Candidates;
  readonly #meter = new ProgressMeter();
  /** The peer that is followed or was last. */
  #leader: PeerId | undefined;
  #progressToldMs = 0;
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = true;
  /** Unix times in milliseconds: of the run's start, of the last block it brought, and from when claims count again. */
  #runStartedMs = 0;
  #lastProgressMs = -Infinity;
  #claimsCountFromMs = -Infinity;
  /** Tip at the last check: a better announcement counts only when a whole interval brought us nothing. */
  #tipAtLastCheck = '';

  constructor(dependencies: SynchronizerDependencies) {
    this.#chain = dependencies.chain;
    this.#transport = dependencies.transport;
    this.#clock = dependencies.clock;
    this.#observer = dependencies.observer;
    this.#penalise = dependencies.penalise;
    this.#ended = dependencies.ended;
    this.#rests = new Rests(dependencies.clock);
    this.#customs = dependencies.customs;
    this.#candidates = new Candidates({
      chain: dependencies.chain,
      transport: dependencies.transport,
      random: dependencies.random,
      rests: this.#rests,
      rivalsAtOurHeight: dependencies.customs.rivalsAtOurHeight,
      broadhash: dependencies.broadhash,
    });
  }

  /**
   * True while blocks are being taken over; no block is forged or gossiped then. A peer's mere word that it has a better
   * chain holds us up for a moment only, and not again soon when nothing came of it.
   */
  get syncing(): boolean {
    if (this.#run === undefined) return false;
    const nowMs = this.#clock.nowMs();
    const isClaimFresh = nowMs < this.#runStartedMs + PROOF_MS && nowMs >= this.#claimsCountFromMs;
    return isClaimFresh || nowMs < this.#lastProgressMs + STALL_MS;
  }

  /** How far a download is; undefined when none is under way. */
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
   * @param hasShownTip true when it has sent that chain's tip
   */
  trigger(peerId?: PeerId, hasShownTip = false): void {
    if (this.#stopped || this.#run !== undefined) return;
    // What cannot be kept is not downloaded: the same blocks would be asked for again and again.
    if (this.#chain.disk.obstacle() !== undefined) return;
    const isTrusted = peerId !== undefined && this.#rests.failures(peerId) <= FAILURES_TRUSTED;
    this.#runStartedMs = this.#clock.nowMs();
    this.#lastProgressMs = -Infinity;
    const tipId = this.#chain.tip.header.id;
    this.#run = this.#synchronise(isTrusted ? peerId : undefined, hasShownTip)
      .catch((error: unknown) => {
        this.#observer.log('error', 'SYNC_FAILED', 'synchronisation ended with an error', {
          reason: messageOf(error),
          cause: codeOf(error),
        });
      })
      .finally(() => {
        this.#run = undefined;
        if (this.#chain.tip.header.id === tipId) this.#claimsCountFromMs = this.#clock.nowMs() + DOUBT_MS;
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

  async #synchronise(first: PeerId | undefined, hasShownTip: boolean): Promise<void> {
    const tried = new Set<PeerId>();
    let isShown = first !== undefined && hasShownTip;
    let peerId = first ?? this.#candidates.choose(tried);
    while (!this.#stopped && peerId !== undefined && tried.size < PEERS_PER_RUN_MAX) {
      const leader = peerId;
      this.#leader = leader;
      this.#progressToldMs = this.#clock.nowMs();
      this.#meter.begin(this.#chain.tip.header.height, this.#progressToldMs);
      try {
        const isAhead = await follow(peerId, isShown, {
          chain: this.#chain,
          transport: this.#transport,
          clock: this.#clock,
          observer: this.#observer,
          helpers: (leader) => this.#candidates.helpersOf(leader),
          peerFailed: (other, error) => this.#helperFailed(other, error),
          isTipAsked: this.#customs.isTipAsked,
          isStopped: () => this.#stopped,
          othersWait: (waitedMs) => waitedMs > STRANGER_MS && this.#candidates.isStrangerInTheWay(leader),
        });
        if (isAhead) {
          tried.clear();
          this.#rests.clear(peerId);
        } else {
          // It announced more than it gave.
          this.#rests.fail(peerId);
        }
      } catch (error) {
        this.#failed(peerId, error);
      }
      isShown = false;
      tried.add(peerId);
      peerId = this.#candidates.choose(tried);
    }
  }

  #failed(peerId: PeerId, error: unknown): void {
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (!(cause instanceof ProtocolError)) throw error;
    const { code } = cause;
    // A disk that is full or broken is nobody's fault but ours, and another peer would not help.
    if (code.startsWith('STORE_')) throw error;
    const reason = messageOf(error);
    this.#observer.log('warn', code, 'could not synchronise with a peer', { peer: peerId, reason });
    // Our own chain went on meanwhile: a new look decides.
    if (code === 'TIP_MOVED') return;
    // A slow clock sees blocks and transactions of the future everywhere; a rival at our height promised nothing.
    const isRival = this.#customs.rivalsAtOurHeight && code === 'SYNC_BRANCH_NOT_BETTER';
    const isItsFault = !(cause instanceof BlockRejected && isByClock(cause)) && !isRival;
    this.#rests.fail(peerId, isItsFault);
    if (LIES.has(code)) this.#penalise(peerId, code, reason);
    // Where a block belongs is beyond doubt here, so no honest peer has it.
    else if (cause instanceof BlockRejected && isItsFault) this.#penalise(peerId, 'SYNC_BRANCH_INVALID', reason);
  }

  /** A peer that served beside the one that is followed. What it did not answer is charged to nobody: who lies is open. */
  #helperFailed(peerId: PeerId, error: unknown): void {
    const cause = error instanceof BranchRejected ? error.rejection : error;
    if (cause instanceof BlockRejected || (cause instanceof ProtocolError && LIES.has(cause.code))) {
      this.#failed(peerId, error);
      return;
    }
    const code = cause instanceof ProtocolError ? cause.code : 'SYNC_FAILED';
    this.#observer.log('debug', code, 'a peer did not help with a download', {
      peer: peerId,
      reason: messageOf(error),
    });
    this.#rests.fail(peerId, false);
  }
}
