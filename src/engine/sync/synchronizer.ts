/**
 * Keeps up with the network: notices that a peer holds a chain to be preferred, finds where it parts from ours, downloads
 * what lies beyond and lets the chain decide.
 *
 * A run is started by a received block that does not fit, or by a peer that has been announcing a better tip for a while
 * (on a quiet network nobody sends a block, so waiting for one can mean waiting for ever).
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { Connection, PeerId, Transport } from '../../ports/transport.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { Block, BlockHeader } from '../../protocol/types.ts';
import { BlockRejected } from '../../protocol/verdict.ts';
import type { Chain } from '../chain.ts';
import { BranchRejected } from '../commit.ts';
import { findCommonHeight } from './common-block.ts';
import { downloadAfter } from './download.ts';

/** How often announced tips are looked at. */
const CHECK_INTERVAL_MS = 1000;
/** A peer that failed is left alone for this long. */
const PEER_REST_MS = 10_000;
/** Peers tried in one run before it gives up until the next check. */
const PEERS_PER_RUN_MAX = 5;
/**
 * Blocks of a rival branch held in memory before it must have proved to be the better one. By then it is six rounds
 * longer than ours, more than finality ever leaves open on a working network.
 */
const BRANCH_BLOCKS_MAX = 2020;

export interface SynchronizerDependencies {
  readonly chain: Chain;
  readonly transport: Pick<Transport, 'request' | 'connections'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  /** Tells the keeper of peers that one misled us. */
  readonly penalise: (peerId: PeerId, code: string, detail: string) => void;
}

export class Synchronizer {
  readonly #chain: Chain;
  readonly #transport: Pick<Transport, 'request' | 'connections'>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: Observer;
  readonly #penalise: SynchronizerDependencies['penalise'];
  /** Peers that failed, and until when they rest (Unix ms). */
  readonly #restingUntilMs = new Map<PeerId, number>();
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #stopped = true;
  /** Tip at the last check: a better announcement counts only when a whole interval brought us nothing. */
  #tipAtLastCheck = '';

  constructor(dependencies: SynchronizerDependencies) {
    this.#chain = dependencies.chain;
    this.#transport = dependencies.transport;
    this.#clock = dependencies.clock;
    this.#random = dependencies.random;
    this.#observer = dependencies.observer;
    this.#penalise = dependencies.penalise;
  }

  /** True while a download is under way; no block is forged or gossiped then. */
  get syncing(): boolean {
    return this.#run !== undefined;
  }

  start(): void {
    this.#stopped = false;
    this.#arm();
  }

  /** Resolves when a run under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#run;
  }

  /** Starts a run, preferring the peer that showed us a better block. Does nothing while one is under way. */
  trigger(peerId?: PeerId): void {
    if (this.#stopped || this.#run !== undefined) return;
    this.#run = this.#synchronise(peerId)
      .catch((error: unknown) => {
        this.#observer.log('error', 'SYNC_FAILED', 'synchronisation ended with an error', { reason: messageOf(error) });
      })
      .finally(() => {
        this.#run = undefined;
      });
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(CHECK_INTERVAL_MS, () => {
      this.#check();
      this.#arm();
    });
  }

  #check(): void {
    const tipId = this.#chain.tip.header.id;
    const unchanged = tipId === this.#tipAtLastCheck;
    this.#tipAtLastCheck = tipId;
    if (unchanged && this.#run === undefined && this.#betterPeers(new Set()).length > 0) this.trigger();
  }

  async #synchronise(preferred: PeerId | undefined): Promise<void> {
    const tried = new Set<PeerId>();
    let next = preferred;
    while (!this.#stopped && tried.size < PEERS_PER_RUN_MAX) {
      const peerId = next ?? this.#choosePeer(tried);
      next = undefined;
      if (peerId === undefined) return;
      tried.add(peerId);
      try {
        if (await this.#follow(peerId)) tried.clear();
        // It announced more than it gave.
        else this.#restingUntilMs.set(peerId, this.#clock.nowMs() + PEER_REST_MS);
        tried.add(peerId);
      } catch (error) {
        this.#rest(peerId, error);
      }
    }
  }

  /**
   * Takes over what a peer has beyond the common block.
   *
   * @returns true when the tip changed
   */
  async #follow(peerId: PeerId): Promise<boolean> {
    const before = this.#chain.tip.header;
    const source = { peerId, transport: this.#transport, codec: this.#chain.rules.codec };
    const commonHeight = await findCommonHeight(this.#chain.state, source, this.#chain.finalizedHeight);
    const common = this.#headerAt(commonHeight);
    this.#observer.log('info', 'SYNC_STARTED', 'downloading blocks', {
      peer: peerId,
      height: before.height,
      commonHeight,
    });
    const batches = downloadAfter(common, source);
    if (commonHeight < this.#chain.tip.header.height) await this.#changeBranch(commonHeight, batches);
    for await (const batch of batches) {
      if (this.#stopped) break;
      await this.#extend(batch);
    }
    const after = this.#chain.tip.header;
    this.#observer.log('info', 'SYNC_ENDED', 'downloaded all that the peer has', {
      peer: peerId,
      height: after.height,
      blocks: after.height - commonHeight,
    });
    return after.id !== before.id;
  }

  /** Collects a rival branch until fork choice prefers it, then changes over. Ends with the branch's end on our tip. */
  async #changeBranch(commonHeight: number, batches: AsyncGenerator<readonly Block[]>): Promise<void> {
    const branch: Block[] = [];
    for (;;) {
      const { value: batch, done } = await batches.next();
      if (done === true || this.#stopped) {
        throw new ProtocolError('SYNC_BRANCH_NOT_BETTER', { commonHeight, blocks: branch.length });
      }
      branch.push(...batch);
      await this.#chain.precheck(batch);
      const end = branch.at(-1);
      const status = end && this.#chain.rules.forkStatus(this.#chain.tip, { header: end });
      if (status === 'betterChain') {
        await this.#chain.switchTo(commonHeight, branch);
        return;
      }
      if (branch.length > BRANCH_BLOCKS_MAX) {
        throw new ProtocolError('SYNC_BRANCH_NOT_BETTER', { commonHeight, blocks: branch.length });
      }
    }
  }

  async #extend(batch: readonly Block[]): Promise<void> {
    await this.#chain.precheck(batch);
    const tip = this.#chain.tip.header;
    // A block gossiped meanwhile may have been applied already.
    const fresh = batch.filter((block) => block.height > tip.height);
    if (fresh.length > 0) await this.#chain.append(fresh);
  }

  #headerAt(height: number): BlockHeader {
    const header = this.#chain.state.header(height);
    if (header === undefined) throw new ProtocolError('SYNC_NO_COMMON_BLOCK', { height });
    return header;
  }

  #rest(peerId: PeerId, error: unknown): void {
    this.#restingUntilMs.set(peerId, this.#clock.nowMs() + PEER_REST_MS);
    const cause = error instanceof BranchRejected ? error.rejection : error;
    const code = cause instanceof ProtocolError ? cause.code : 'SYNC_FAILED';
    this.#observer.log('warn', code, 'could not synchronise with a peer', { peer: peerId, reason: messageOf(error) });
    if (cause instanceof BlockRejected || code === 'SYNC_BLOCKS_UNLINKED' || code === 'SYNC_NO_COMMON_BLOCK') {
      this.#penalise(peerId, code, messageOf(error));
    }
    if (!(cause instanceof ProtocolError)) throw error;
  }

  /** A random member of the largest group of peers that agree on the best tip announced. */
  #choosePeer(excluded: ReadonlySet<PeerId>): PeerId | undefined {
    const groups = new Map<string, PeerId[]>();
    for (const { peerId, info } of this.#betterPeers(excluded)) {
      const key = info.lastBlockId ?? '';
      groups.set(key, [...(groups.get(key) ?? []), peerId]);
    }
    const largest = [...groups].sort(([idA, a], [idB, b]) => b.length - a.length || (idA < idB ? -1 : 1))[0]?.[1];
    return largest?.[this.#random.below(largest.length)];
  }

  /** Connected peers whose announced tip is to be preferred to ours, only those with the best. */
  #betterPeers(excluded: ReadonlySet<PeerId>): readonly Connection[] {
    const { rules } = this.#chain;
    const nowMs = this.#clock.nowMs();
    const candidates = this.#transport.connections().flatMap((connection) => {
      if (excluded.has(connection.peerId)) return [];
      if ((this.#restingUntilMs.get(connection.peerId) ?? 0) > nowMs) return [];
      const tip = announcedTip(connection);
      return tip !== undefined && rules.prefersTip(tip, this.#chain.tip.header) ? [{ connection, tip }] : [];
    });
    return candidates
      .filter(({ tip }) => !candidates.some((other) => rules.prefersTip(other.tip, tip)))
      .map(({ connection }) => connection);
  }
}

function announcedTip({ info }: Connection): AnnouncedTip | undefined {
  if (info.height === undefined) return undefined;
  return { height: info.height, maxHeightPrevoted: info.maxHeightPrevoted ?? 0 };
}
