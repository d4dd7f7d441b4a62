/**
 * By how much the clocks of the peers differ from ours, seen from the blocks that they send: a block is forged at the start
 * of its slot by the clock of its forger, and arrives soon after. The wire tells no time of day, so this is all there is.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { PeerId } from '../../ports/transport.ts';
import { ipOf, isLoopback } from './addresses.ts';

/** Peers with samples that are kept. */
const PEERS_MAX = 256;
/** Latest blocks of a peer. The one that came soonest counts: whatever delays a block only makes the others later. */
const SAMPLES_PER_PEER = 8;
/** Fewer blocks of a peer, or fewer peers, say nothing: one may be on a slow line, or lie. */
const SAMPLES_MIN = 3;
const PEERS_MIN = 2;
const SAMPLE_AGE_MS_MAX = 3_600_000;
/** Blocks of honest nodes need up to a second or two; with a larger difference slots begin to be missed. */
export const CLOCK_OFFSET_WARN_MS = 2_000;
const WARN_EVERY_MS = 3_600_000;

interface Sample {
  readonly offsetMs: number;
  readonly atMs: number;
}

export class ClockOffset {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #observer: Observer;
  /** Oldest first. */
  readonly #samples = new Map<PeerId, readonly Sample[]>();
  /** Order of use of the above. */
  readonly #recent = new LruMap<PeerId, true>(PEERS_MAX);
  #warnedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'nowMs'>, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /**
   * A peer sent a block of the chain, or one that is refused only because its slot has not come.
   *
   * @param slotStartMs when its slot begins, Unix time in milliseconds
   * @param receivedMs when it arrived
   */
  note(peerId: PeerId, slotStartMs: number, receivedMs: number): void {
    this.#recent.set(peerId, true);
    const before = this.#samples.get(peerId) ?? [];
    const sample = { offsetMs: slotStartMs - receivedMs, atMs: receivedMs };
    this.#samples.set(peerId, [...before, sample].slice(-SAMPLES_PER_PEER));
    if (this.#samples.size > PEERS_MAX) {
      for (const known of [...this.#samples.keys()]) if (!this.#recent.has(known)) this.#samples.delete(known);
    }
    this.#warn();
  }

  /** Median over the peers, one voice for each address; positive when they are ahead. Undefined while too few have told. */
  estimateMs(): number | undefined {
    const oldestMs = this.#clock.nowMs() - SAMPLE_AGE_MS_MAX;
    const byAddress = new Map<string, number>();
    for (const [peerId, samples] of this.#samples) {
      const fresh = samples.filter(({ atMs }) => atMs >= oldestMs).map(({ offsetMs }) => offsetMs);
      if (fresh.length < SAMPLES_MIN) continue;
      const ip = ipOf(peerId);
      byAddress.set(isLoopback(ip) ? peerId : ip, Math.max(...fresh));
    }
    const sorted = [...byAddress.values()].sort((a, b) => a - b);
    return sorted.length < PEERS_MIN ? undefined : sorted[sorted.length >> 1];
  }

  /**
   * By how much several of these peers, and most of those that told anything, agree that their clocks differ from ours: what
   * forging is to depend on, so it takes note at once when it is over.
   *
   * @param peers whom a stranger cannot be one of
   * @param limitMs smaller differences count as none
   * @returns positive when they are ahead; undefined while they do not agree on a difference beyond the limit
   */
  agreedMs(peers: readonly PeerId[], limitMs: number): number | undefined {
    const byAddress = new Map<string, number>();
    for (const peerId of peers) {
      const offsetMs = this.#lastingOffsetMs(peerId);
      const ip = ipOf(peerId);
      if (offsetMs !== undefined) byAddress.set(isLoopback(ip) ? peerId : ip, offsetMs);
    }
    const voices = [...byAddress.values()];
    for (const beyond of [voices.filter((ms) => ms > limitMs), voices.filter((ms) => ms < -limitMs)]) {
      if (beyond.length < PEERS_MIN || 2 * beyond.length <= voices.length) continue;
      return beyond.sort((a, b) => a - b)[beyond.length >> 1];
    }
    return undefined;
  }

  /**
   * The offset that all latest blocks of a peer agree on. Blocks may be late for many reasons, and all at once after a standstill, so all
   * that are kept must be; none is early for another reason than a clock, so the last few are enough.
   */
  #lastingOffsetMs(peerId: PeerId): number | undefined {
    const nowMs = this.#clock.nowMs();
    // Those of the future are from before the clock was set back.
    const fresh = (this.#samples.get(peerId) ?? []).filter(
      ({ atMs }) => atMs >= nowMs - SAMPLE_AGE_MS_MAX && atMs <= nowMs,
    );
    const offsets = fresh.map(({ offsetMs }) => offsetMs);
    if (offsets.length < SAMPLES_MIN) return undefined;
    const least = Math.min(...offsets.slice(-SAMPLES_MIN));
    return least > 0 ? least : Math.min(0, Math.max(...offsets));
  }

  #warn(): void {
    const offsetMs = this.estimateMs();
    if (offsetMs === undefined || Math.abs(offsetMs) < CLOCK_OFFSET_WARN_MS) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#warnedMs + WARN_EVERY_MS) return;
    this.#warnedMs = nowMs;
    const message = `The clocks of the peers are ${offsetMs > 0 ? 'ahead of' : 'behind'} this node's: correct its clock`;
    this.#observer.log('warn', 'CLOCK_OFFSET', message, { offsetMs });
  }
}
