/**
 * Estimates the difference between the clocks of the peers and ours from the blocks that they send. A block is forged at the
 * start of its slot by the clock of its forger, and arrives soon after. No message has a time of day, so there is no other
 * source.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LogFields, Observer } from '../../ports/observer.ts';
import type { PeerId } from '../../ports/transport.ts';
import { ipOf, isLoopback } from './addresses.ts';

/** Peers with samples that are kept. */
const PEERS_MAX = 256;
/** Latest blocks of a peer. The one with the shortest delay counts, as every delay only makes a block later. */
const SAMPLES_PER_PEER = 8;
/** Least number of blocks of a peer, and of peers: a single peer may have a slow line, or lie. */
const SAMPLES_MIN = 3;
const PEERS_MIN = 2;
const SAMPLE_AGE_MS_MAX = 3_600_000;
/** Blocks of honest nodes need up to a second or two; with a larger difference slots begin to be missed. */
export const CLOCK_OFFSET_WARN_MS = 2_000;
const WARN_EVERY_MS = 3_600_000;
/**
 * That another clock is wrong, or one of two, is told when it has been so for a while: this clock may just have been set, and
 * the peers' newest blocks tell of that one after the other.
 */
const LASTING_MS = 120_000;

/** The result of the comparison of this clock with the clocks of the peers. */
export type ClockVerdict =
  /** Most clocks agree with each other, and this one does not: positive when they are ahead. */
  | { readonly kind: 'own'; readonly offsetMs: number }
  /** This one agrees with most, and that of a peer does not. */
  | { readonly kind: 'peer'; readonly peerId: PeerId; readonly offsetMs: number }
  /** That of a peer differs from this one, and too few others tell which of the two is wrong. */
  | { readonly kind: 'unclear'; readonly peerId: PeerId; readonly offsetMs: number };

interface Voice {
  readonly peerId: PeerId;
  readonly offsetMs: number;
}

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
  /** The present result, and the time since when it holds. */
  #standing: { readonly kind: ClockVerdict['kind'] | undefined; readonly sinceMs: number };
  /** By code: when it was told last. */
  readonly #toldMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'nowMs'>, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
    this.#standing = { kind: undefined, sinceMs: clock.nowMs() };
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

  /**
   * This clock was set while the node ran, so what is known is true of another one now.
   *
   * @param byMs forward; undefined where that is not known
   */
  wasSet(byMs: number | undefined): void {
    for (const [peerId, samples] of [...this.#samples]) {
      if (byMs === undefined) this.#samples.delete(peerId);
      else
        this.#samples.set(
          peerId,
          samples.map(({ offsetMs, atMs }) => ({ offsetMs: offsetMs - byMs, atMs: atMs + byMs })),
        );
    }
  }

  /** Positive when the peers are ahead. Undefined while too few peers have samples, or their clocks and this one disagree. */
  estimateMs(): number | undefined {
    const verdict = this.#judge();
    if (verdict?.kind === 'own') return verdict.offsetMs;
    if (verdict?.kind === 'unclear') return undefined;
    const voices = this.#voices();
    return voices.length < PEERS_MIN ? undefined : medianOf(near(voices, 0));
  }

  /** Which clock is wrong where one is by much; undefined while all that is known agrees. One voice for each address. */
  verdict(): ClockVerdict | undefined {
    const verdict = this.#judge();
    const nowMs = this.#clock.nowMs();
    if (this.#standing.kind !== verdict?.kind || nowMs < this.#standing.sinceMs)
      this.#standing = { kind: verdict?.kind, sinceMs: nowMs };
    return verdict?.kind === 'own' || nowMs - this.#standing.sinceMs >= LASTING_MS ? verdict : undefined;
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
    const verdict = this.verdict();
    if (verdict === undefined) return;
    const { kind, offsetMs } = verdict;
    const where = offsetMs > 0 ? 'ahead of' : 'behind';
    if (kind === 'own') {
      const message = `The clocks of the peers are ${where} this node's: correct its clock`;
      this.#tell('warn', 'CLOCK_OFFSET', message, { offsetMs });
      return;
    }
    // A peer that is behind may as well be one whose blocks come late.
    const late = offsetMs > 0 ? '' : ', or its blocks come late';
    const fields = { peer: verdict.peerId, offsetMs };
    if (kind === 'peer') {
      const message = `the clock of a peer is ${where} this node's and most others${late}`;
      this.#tell('info', 'PEER_CLOCK_OFF', message, fields);
    } else {
      const message = `the clock of a peer is ${where} this node's, and one of the two is wrong${late}: check both`;
      this.#tell('warn', 'CLOCKS_DIFFER', message, fields);
    }
  }

  #tell(level: 'info' | 'warn', code: string, message: string, fields: LogFields): void {
    const nowMs = this.#clock.nowMs();
    const toldMs = this.#toldMs.get(code) ?? Number.NEGATIVE_INFINITY;
    // A clock that was set back has told in its future.
    if (nowMs >= toldMs && nowMs < toldMs + WARN_EVERY_MS) return;
    this.#toldMs.set(code, nowMs);
    this.#observer.log(level, code, message, fields);
  }
}

/** Those whose clocks agree with one that is ahead of ours by so much. */
function near(voices: readonly Voice[], offsetMs: number): readonly Voice[] {
  return voices.filter((voice) => Math.abs(voice.offsetMs - offsetMs) < CLOCK_OFFSET_WARN_MS);
}

function medianOf(voices: readonly Voice[]): number | undefined {
  const sorted = voices.map(({ offsetMs }) => offsetMs).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
