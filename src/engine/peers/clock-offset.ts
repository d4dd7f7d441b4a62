/**
 * Estimates the time by which the clocks of the peers are ahead of this node's clock, or behind this node's clock. The
 * estimate uses the arrival times of blocks. A forger makes a block at the start of the forger's slot, and the block
 * arrives soon afterwards. No other message shows the time of a node's clock.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LogFields, Observer } from '../../ports/observer.ts';
import type { PeerId } from '../../ports/transport.ts';
import type { BlockId } from '../../protocol/types.ts';
import { ipOf, isLoopback } from './addresses.ts';

/** Maximum number of peers whose samples are stored. */
const PEERS_MAX = 256;
/**
 * The class uses a copy of an imported block as a sample only if the block is among the newest `BLOCKS_MAX` imported
 * blocks. The arrival time of a copy of an older block shows nothing, because a peer can send such a copy at any time.
 * An honest peer also sends copies of older blocks, for example after its connection was blocked.
 */
const BLOCKS_MAX = 4;
/**
 * If more than this number of the newest `BLOCKS_MAX` imported blocks were on time, our clock is not ahead of the
 * peers' clocks. A single block on time is no proof, because another node can have the same wrong clock as this node.
 * The blocks of such a node seem to be on time here.
 */
const ON_TIME_MAX = 2;
/**
 * Maximum number of stored samples of each peer. A sample records the arrival of one block from the peer. A slow
 * connection can make a block late, but never early. `estimateMs` and `verdict` therefore use only the sample of the
 * peer's least delayed block.
 */
const SAMPLES_PER_PEER = 8;
/** The class ignores a peer with fewer recent samples than this number. A sample is recent for `SAMPLE_AGE_MS_MAX`. */
const SAMPLES_MIN = 3;
/**
 * Minimum number of peers for a result of `estimateMs` and `agreedMs`. `estimateMs` counts the peers with at least
 * `SAMPLES_MIN` recent samples. Of these peers, `agreedMs` counts only the peers whose clocks differ from ours by more
 * than `limitMs` in the same direction. A single peer is no proof, because the peer can have a slow connection, or lie.
 */
const PEERS_MIN = 2;
const SAMPLE_AGE_MS_MAX = 3_600_000;
/**
 * Time in milliseconds for which the samples of a peer still count after the peer has disconnected. Without this time,
 * a short loss of all connections would hide that our clock is wrong.
 */
const DISCONNECTED_MS_MAX = 60_000;
/**
 * Two clocks agree if they differ by less than this number of milliseconds. Even if the clocks are equal, a block can
 * arrive up to two seconds after the start of its slot. A delay of less than two seconds therefore does not show a
 * wrong clock. A delegate begins to miss slots if its clock differs from the clocks of the other nodes by more than two
 * seconds.
 */
export const CLOCK_OFFSET_WARN_MS = 2_000;
const WARN_EVERY_MS = 3_600_000;
/**
 * Time in milliseconds for which a verdict of kind `peer` or `unclear` must hold before `verdict` returns this verdict.
 * If somebody sets our clock and the size of the change is unknown, `wasSet` drops all samples. A peer then counts
 * again only after `SAMPLES_MIN` further blocks have arrived from the peer. Until all peers count again, the verdict
 * can be wrong.
 */
const LASTING_MS = 120_000;

/** The result of the comparison of our clock with the clocks of the peers. */
export type ClockVerdict =
  /**
   * Our clock is wrong: most clocks agree with each other, but not with our clock. The offset is positive if the other
   * clocks are ahead.
   */
  | { readonly kind: 'own'; readonly offsetMs: number }
  /**
   * The clock of the peer is wrong: our clock agrees with most clocks, but the clock of the peer does not agree with
   * them.
   */
  | { readonly kind: 'peer'; readonly peerId: PeerId; readonly offsetMs: number }
  /**
   * The clock of the peer differs from our clock, and the clocks have no majority: no time exists on which most of the
   * known clocks agree. The node therefore cannot decide which clock is wrong.
   */
  | { readonly kind: 'unclear'; readonly peerId: PeerId; readonly offsetMs: number };

/** The estimated offset of one peer's clock; positive if the peer is ahead. */
interface Voice {
  readonly peerId: PeerId;
  readonly offsetMs: number;
}

interface Sample {
  readonly blockId: BlockId;
  readonly offsetMs: number;
  readonly atMs: number;
}

/** The arrival of a block from a peer. */
export interface BlockArrival {
  readonly blockId: BlockId;
  /** Start of the block's slot; Unix time in milliseconds. */
  readonly slotStartMs: number;
  /** Arrival of the block; Unix time in milliseconds. */
  readonly receivedMs: number;
  /**
   * - `imported`: the node imported the block from this peer. All copies that arrived before this copy had the kind
   *   `early`, unless the node imported the block before and then reverted it.
   * - `known`: the node had already imported or forged the block.
   * - `early`: the node refused the block because the slot of the block had not begun. It is possible that our clock is
   *   behind.
   */
  readonly kind: 'imported' | 'known' | 'early';
}

export class ClockOffset {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #observer: Observer;
  /** The samples of each peer, oldest first. */
  readonly #samples = new Map<PeerId, readonly Sample[]>();
  /**
   * An offset in milliseconds for each of the newest `BLOCKS_MAX` imported blocks, oldest first. The offset is the
   * start of the block's slot minus the arrival of the imported copy. The offset is 0 if the node refused an earlier
   * copy because the slot of the block had not begun. If the node imports a block again after a revert, the first
   * import gives the offset.
   */
  readonly #blockOffsetsMs = new Map<BlockId, number>();
  /**
   * Peers that sent a block recently, at most `PEERS_MAX`. When `#samples` has more than `PEERS_MAX` peers, the class
   * drops the samples of all peers that are not in `#recent`.
   */
  readonly #recent = new LruMap<PeerId, true>(PEERS_MAX);
  /**
   * The kind of the current verdict (undefined if there is no verdict), and the Unix time in milliseconds of the last
   * change of this kind.
   */
  #verdictSince: { readonly kind: ClockVerdict['kind'] | undefined; readonly sinceMs: number };
  /** For each code of a log line, the Unix time in milliseconds of the last line with this code. */
  readonly #loggedMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'nowMs'>, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
    this.#verdictSince = { kind: undefined, sinceMs: clock.nowMs() };
  }

  /**
   * Records the arrival of a block from a peer. The first copy of a recent block from a peer is a sample of this peer.
   *
   * If a copy arrives before the slot of the block has begun, our clock is behind the clock of the block's forger. A
   * late copy proves nothing, because it is possible that the peer received the block late, or kept the block back. If
   * our clock is ahead, every copy seems late by at least the offset of our clock. This offset is therefore at most the
   * delay of the earliest copy from any peer. For this reason, the class computes the offset of each late copy from the
   * arrival of the earliest copy. A block that the node forged has no such arrival, so copies of this block are no
   * samples.
   */
  addSample(peerId: PeerId, { blockId, slotStartMs, receivedMs, kind }: BlockArrival): void {
    if (kind === 'imported') this.#recordImport(blockId, slotStartMs - receivedMs);
    const blockOffsetMs = kind === 'early' ? slotStartMs - receivedMs : this.#blockOffsetsMs.get(blockId);
    if (blockOffsetMs === undefined) return;
    const before = this.#samples.get(peerId) ?? [];
    if (before.some((sample) => sample.blockId === blockId)) return;
    this.#recent.set(peerId, true);
    const sample = { blockId, offsetMs: blockOffsetMs, atMs: receivedMs };
    this.#samples.set(peerId, [...before, sample].slice(-SAMPLES_PER_PEER));
    if (this.#samples.size > PEERS_MAX) {
      for (const known of [...this.#samples.keys()]) if (!this.#recent.has(known)) this.#samples.delete(known);
    }
    this.#warn();
  }

  #recordImport(blockId: BlockId, offsetMs: number): void {
    // A sample of this block exists before its import in two cases. In the first case, a copy of the block arrived
    // before the slot of the block had begun, and gave a sample with a positive offset. This method then stores the
    // offset 0 for the block. In the second case, the node imported the block before, reverted it, and now imports it
    // again. The samples then have the offset of the first import, and this method stores this offset again.
    const earlier = [...this.#samples.values()].flat().find((sample) => sample.blockId === blockId);
    this.#blockOffsetsMs.set(blockId, earlier === undefined ? offsetMs : Math.min(0, earlier.offsetMs));
    const [oldest] = this.#blockOffsetsMs.keys();
    if (this.#blockOffsetsMs.size > BLOCKS_MAX && oldest !== undefined) this.#blockOffsetsMs.delete(oldest);
  }

  /**
   * Called when a peer has disconnected. The samples of the peer then expire after `DISCONNECTED_MS_MAX` milliseconds
   * at the latest.
   */
  disconnected(peerId: PeerId): void {
    const samples = this.#samples.get(peerId);
    const atMsMax = this.#clock.nowMs() - SAMPLE_AGE_MS_MAX + DISCONNECTED_MS_MAX;
    const aged = samples?.map((sample) => ({ ...sample, atMs: Math.min(sample.atMs, atMsMax) }));
    if (aged !== undefined) this.#samples.set(peerId, aged);
  }

  /**
   * Adjusts the samples to the new time after somebody has set our clock. The node measured the samples before the
   * clock was set.
   *
   * @param byMs time in milliseconds by which the clock was set forward; negative if the clock was set back. If this
   *   time is unknown, the caller passes undefined, and the method drops all samples.
   */
  wasSet(byMs: number | undefined): void {
    for (const [peerId, samples] of [...this.#samples]) {
      if (byMs === undefined) this.#samples.delete(peerId);
      else
        this.#samples.set(
          peerId,
          samples.map(({ blockId, offsetMs, atMs }) => ({ blockId, offsetMs: offsetMs - byMs, atMs: atMs + byMs })),
        );
    }
    for (const [blockId, offsetMs] of [...this.#blockOffsetsMs]) {
      if (byMs === undefined) this.#blockOffsetsMs.delete(blockId);
      else this.#blockOffsetsMs.set(blockId, offsetMs - byMs);
    }
  }

  /**
   * Estimated offset of the peers' clocks in milliseconds; positive if the peers are ahead. Undefined if fewer than
   * `PEERS_MIN` peers have at least `SAMPLES_MIN` recent samples, or if it is unclear whose clock is wrong. If our
   * clock is wrong (verdict of kind `own`), the result is the median offset of the peers' clocks that agree with each
   * other. In all other cases, the result is the median offset of the peers' clocks that agree with ours.
   */
  estimateMs(): number | undefined {
    const verdict = this.#judge();
    if (verdict?.kind === 'own') return verdict.offsetMs;
    if (verdict?.kind === 'unclear') return undefined;
    const voices = this.#voices();
    return voices.length < PEERS_MIN ? undefined : medianOf(near(voices, 0));
  }

  /**
   * Decides which clock is wrong if a peer's clock and ours differ by at least `CLOCK_OFFSET_WARN_MS`. The result is
   * undefined while all known clocks agree with ours. The method returns a verdict of kind `peer` or `unclear` only
   * after this kind has held for `LASTING_MS`. All peers at one IP address count as one peer, so that one machine
   * cannot be the majority. Peers at loopback addresses, such as the nodes of a devnet, count separately.
   */
  verdict(): ClockVerdict | undefined {
    const verdict = this.#judge();
    const nowMs = this.#clock.nowMs();
    if (this.#verdictSince.kind !== verdict?.kind || nowMs < this.#verdictSince.sinceMs)
      this.#verdictSince = { kind: verdict?.kind, sinceMs: nowMs };
    return verdict?.kind === 'own' || nowMs - this.#verdictSince.sinceMs >= LASTING_MS ? verdict : undefined;
  }

  #judge(): ClockVerdict | undefined {
    const voices = this.#voices();
    const clocks = voices.length + 1;
    const others = voices.filter(({ offsetMs }) => Math.abs(offsetMs) >= CLOCK_OFFSET_WARN_MS);
    const [first] = others;
    if (first === undefined) return undefined;
    const groups = others.map(({ offsetMs }) => near(voices, offsetMs)).sort((a, b) => b.length - a.length);
    const [largest = []] = groups;
    if (2 * largest.length > clocks) return { kind: 'own', offsetMs: medianOf(largest) ?? 0 };
    const isOwnRight = 2 * (near(voices, 0).length + 1) > clocks;
    return { kind: isOwnRight ? 'peer' : 'unclear', ...first };
  }

  #voices(): readonly Voice[] {
    const oldestMs = this.#clock.nowMs() - SAMPLE_AGE_MS_MAX;
    const byAddress = new Map<string, Voice>();
    for (const [peerId, samples] of this.#samples) {
      const fresh = samples.filter(({ atMs }) => atMs >= oldestMs).map(({ offsetMs }) => offsetMs);
      if (fresh.length < SAMPLES_MIN) continue;
      const ip = ipOf(peerId);
      byAddress.set(isLoopback(ip) ? peerId : ip, { peerId, offsetMs: Math.max(...fresh) });
    }
    return [...byAddress.values()];
  }

  /**
   * Returns the offset of the given peers' clocks if enough of these peers agree; otherwise undefined. Only peers with
   * at least `SAMPLES_MIN` recent samples count. Peers agree if their clocks are all ahead of ours, or all behind ours,
   * by more than `limitMs`. Enough peers agree if at least two peers agree, and if these are more than half of the
   * peers that count. For a result that the peers are behind, a further condition must hold. The condition is about the
   * newest `BLOCKS_MAX` imported blocks, from any peers: at most `ON_TIME_MAX` of these blocks arrived no later than
   * `limitMs` after the start of their slots. As in `verdict`, all peers at one IP address count as one peer.
   *
   * The node does not forge while the result is defined, so an outdated result would cost slots. The method therefore
   * computes the offset of each peer with `#lastingOffsetMs`: the offset falls below the limit as soon as one block of
   * the peer arrives on time.
   *
   * @param peers the caller passes only peers that the node dialled or the operator named, because it is possible that
   *   all other peers belong to one attacker
   * @param limitMs a clock that differs from ours by at most this number of milliseconds agrees with ours
   * @returns the median, in milliseconds, of the offsets beyond the limit; positive if the peers are ahead
   */
  agreedMs(peers: readonly PeerId[], limitMs: number): number | undefined {
    const byAddress = new Map<string, number>();
    for (const peerId of peers) {
      const offsetMs = this.#lastingOffsetMs(peerId);
      const ip = ipOf(peerId);
      if (offsetMs !== undefined) byAddress.set(isLoopback(ip) ? peerId : ip, offsetMs);
    }
    const voices = [...byAddress.values()];
    // Without this count, the given peers could make our clock seem to be ahead: they could send only blocks that
    // arrive late although our clock is right, and keep back all blocks that are on time. The count also contains the
    // blocks that other peers sent on time.
    const onTime = [...this.#blockOffsetsMs.values()].filter((ms) => ms >= -limitMs).length;
    const behind = onTime <= ON_TIME_MAX ? voices.filter((ms) => ms < -limitMs) : [];
    for (const beyond of [voices.filter((ms) => ms > limitMs), behind]) {
      if (beyond.length < PEERS_MIN || 2 * beyond.length <= voices.length) continue;
      return beyond.sort((a, b) => a - b)[beyond.length >> 1];
    }
    return undefined;
  }

  /**
   * Returns the offset of a peer's clock in milliseconds, or 0 if the peer's recent blocks do not show that its clock
   * is ahead or behind. Returns undefined if the peer has fewer than `SAMPLES_MIN` recent samples.
   *
   * Blocks can be late for many reasons. After a stall of this process, for example, many blocks in a row are late. A
   * peer therefore counts as behind only if all its recent blocks are late. Only a wrong clock can make a block early.
   * A peer therefore counts as ahead as soon as its last `SAMPLES_MIN` blocks are early.
   */
  #lastingOffsetMs(peerId: PeerId): number | undefined {
    const nowMs = this.#clock.nowMs();
    // The filter also drops samples with a time in the future. The node measured these samples before the clock was set
    // back.
    const fresh = (this.#samples.get(peerId) ?? []).filter(
      ({ atMs }) => atMs >= nowMs - SAMPLE_AGE_MS_MAX && atMs <= nowMs,
    );
    const offsets = fresh.map(({ offsetMs }) => offsetMs);
    if (offsets.length < SAMPLES_MIN) return undefined;
    const least = Math.min(...offsets.slice(-SAMPLES_MIN));
    return least > 0 ? least : Math.min(0, Math.max(...offsets));
  }

  #warn(): void {
    const verdict = this.verdict();
    if (verdict === undefined) return;
    const { kind } = verdict;
    const offsetMs = Math.round(verdict.offsetMs);
    const where = offsetMs > 0 ? 'ahead of' : 'behind';
    if (kind === 'own') {
      const message = `The clocks of the peers are ${where} this node's: correct its clock`;
      this.#log('warn', 'CLOCK_OFFSET', message, { offsetMs });
      return;
    }
    // A negative offset can also mean that the peer's clock is right, but its blocks arrive late for another reason.
    const late = offsetMs > 0 ? '' : ', or its blocks arrive late';
    const fields = { peer: verdict.peerId, offsetMs };
    if (kind === 'peer') {
      const message = `the clock of a peer is ${where} this node's and most others${late}`;
      this.#log('info', 'PEER_CLOCK_OFF', message, fields);
    } else {
      const message = `the clock of a peer is ${where} this node's, and one of the two is wrong${late}: check both`;
      this.#log('warn', 'CLOCKS_DIFFER', message, fields);
    }
  }

  #log(level: 'info' | 'warn', code: string, message: string, fields: LogFields): void {
    const nowMs = this.#clock.nowMs();
    const loggedMs = this.#loggedMs.get(code) ?? Number.NEGATIVE_INFINITY;
    // If the clock was set back, the time of the last log line can be in the future. In this case, the method logs a
    // line immediately.
    if (nowMs >= loggedMs && nowMs < loggedMs + WARN_EVERY_MS) return;
    this.#loggedMs.set(code, nowMs);
    this.#observer.log(level, code, message, fields);
  }
}

/** Returns the peers whose clocks agree with a clock that is ahead of ours by `offsetMs`. */
function near(voices: readonly Voice[], offsetMs: number): readonly Voice[] {
  return voices.filter((voice) => Math.abs(voice.offsetMs - offsetMs) < CLOCK_OFFSET_WARN_MS);
}

function medianOf(voices: readonly Voice[]): number | undefined {
  const sorted = voices.map(({ offsetMs }) => offsetMs).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
