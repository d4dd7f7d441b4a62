/**
 * Announcements to peers: to each peer at its own rate, several items in one message, and no item that the peer has. A new item
 * goes at once to a few peers that got nothing lately, and to the others one after another. So the peers are due at different
 * times: whenever an item is new, some peers may get it at once, and they pass it on. An item that no connected peer shows to
 * have is announced again after a while.
 */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId } from '../ports/transport.ts';
import { type Announced, AnnouncementLog } from './announcement-log.ts';

/** Items of one message, as the wire allows. */
export const ITEMS_PER_MESSAGE_MAX = 25;
/** Items that are kept for announcement: as many as a full pool can cause. */
export const ITEMS_MAX = 5_000;
/** Items that one connected peer is known to have. An item beyond them may be announced to it once too often. */
export const KNOWN_PER_PEER_MAX = 500;
/** Peers whose rate is remembered, as they go on counting when a connection ends: more than can be connected. */
export const PEERS_MAX = 20_000;
/** Time that a new item waits for others, to share a message with them. */
const GATHER_MS = 200;
/** Peers that are told in one moment: with as many each, news is with hundreds of nodes after five of them. */
const AT_ONCE_MAX = 3;
/** Time after which an item that no peer shows to have is announced again. It doubles each time, up to the maximum. */
const AGAIN_MS = 30_000;
const AGAIN_MS_MAX = 600_000;
/** Least time between two searches for items to announce again. */
const AGAIN_LOOK_MS = 10_000;

export interface AnnouncementOptions<T> {
  readonly clock: Clock;
  /** Connected peers that may be told now. */
  readonly targets: () => readonly PeerId[];
  /** Number of peers that one item is announced to. */
  readonly peersPerItemMax: number;
  /** Highest rate of messages to one peer. */
  readonly rate: Sending;
  readonly keyOf: (item: T) => string;
  /** False for an item that need not be announced any more. */
  readonly isCurrent: (item: T) => boolean;
  readonly send: (peerId: PeerId, items: readonly T[]) => void;
}

const LOGS = [0, 1, 2] as const;

interface Told {
  readonly bucket: TokenBucket;
  /** Keys of items that the peer shows to have. */
  readonly known: LruMap<string, true>;
  /** Unix time in milliseconds; 0 for never. */
  lastMs: number;
  /** Position in each log from which on the peer was told nothing. */
  readonly next: [firstHand: number, relayed: number, again: number];
}

export class Announcements<T> {
  readonly #options: AnnouncementOptions<T>;
  /**
   * In this order: items that came in here first; items that peers announced, which they also pass on themselves; items that
   * are announced again.
   */
  readonly #logs = LOGS.map(() => new AnnouncementLog<T>(ITEMS_MAX));
  /** Everything that the logs tell. */
  readonly #current = new Map<string, Announced<T>>();
  /** Connected peers. */
  readonly #peers = new Map<PeerId, Told>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  readonly #heard = new LruMap<string, true>(ITEMS_MAX);
  #timer: Timer | undefined;
  #timerDueMs = Infinity;
  #againTimer: Timer | undefined;
  /** End of the time for which all turns are used up; Unix time in milliseconds. */
  #turnsMs = 0;
  #stopped = true;

  constructor(options: AnnouncementOptions<T>) {
    this.#options = options;
  }

  start(): void {
    this.#stopped = false;
    this.#arm(GATHER_MS);
    this.#armAgain();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#againTimer?.cancel();
  }

  add(item: T): void {
    const key = this.#options.keyOf(item);
    this.#add(this.#heard.has(key) ? 1 : 0, key, item, AGAIN_MS);
  }

  /** Tells once more what no connected peer shows to have, unless it was told a moment ago. */
  addAgain(item: T): void {
    const nowMs = this.#options.clock.nowMs();
    const key = this.#options.keyOf(item);
    const entry = this.#current.get(key);
    if (entry === undefined) this.add(item);
    else if (nowMs >= entry.againMs - entry.waitMs + AGAIN_LOOK_MS && !this.#isWithPeer(key))
      this.#add(2, key, item, entry.waitMs);
  }

  /** A peer has these: it told of them itself. */
  heard(peerId: PeerId, keys: readonly string[]): void {
    for (const key of keys) this.#heard.set(key, true);
    this.given(peerId, keys);
  }

  /** A peer has these: it asked for them. */
  given(peerId: PeerId, keys: readonly string[]): void {
    const { known } = this.#toldTo(peerId);
    for (const key of keys) known.set(key, true);
  }

  /** A connection is open: its peer is told what is current. */
  connected(): void {
    this.#arm(GATHER_MS);
  }

  /** A connection ended. When its peer comes back it is told everything again, as it may have lost it. */
  disconnected(peerId: PeerId): void {
    this.#peers.delete(peerId);
  }

  #add(log: (typeof LOGS)[number], key: string, item: T, waitMs: number): void {
    const before = this.#current.get(key);
    if (before !== undefined) before.isReplaced = true;
    const againMs = this.#options.clock.nowMs() + waitMs;
    const entry: Announced<T> = { key, item, told: 0, isReplaced: false, againMs, waitMs };
    this.#current.set(key, entry);
    this.#dropped(this.#logs[log]?.add(entry));
    this.#arm(GATHER_MS);
  }

  #dropped(entry: Announced<T> | undefined): void {
    if (entry !== undefined && this.#current.get(entry.key) === entry) this.#current.delete(entry.key);
  }

  #tell(): void {
    const { clock, targets, send } = this.#options;
    this.#forgetOld();
    const peers = targets();
    const waiting = peers.map((peerId) => ({ peerId, told: this.#toldTo(peerId) }));
    // Those who waited longest come first.
    waiting.sort((a, b) => a.told.lastMs - b.told.lastMs);
    const turnMs = this.#options.rate.everyMs / Math.max(1, peers.length);
    let nextMs = Infinity;
    for (const { peerId, told } of waiting) {
      if (!this.#hasNews(told)) continue;
      const nowMs = clock.nowMs();
      const turnWaitMs = this.#turnsMs - (AT_ONCE_MAX - 1) * turnMs - nowMs;
      const waitMs = Math.max(told.bucket.waitMs(nowMs), turnWaitMs);
      if (waitMs <= 0 && told.bucket.take(nowMs)) {
        this.#turnsMs = Math.max(this.#turnsMs, nowMs) + turnMs;
        told.lastMs = nowMs;
        send(peerId, this.#take(told));
        if (!this.#hasNews(told)) continue;
      }
      nextMs = Math.min(nextMs, Math.max(told.bucket.waitMs(nowMs), turnWaitMs));
    }
    if (nextMs < Infinity) this.#arm(Math.max(1, Math.ceil(nextMs)));
  }

  #forgetOld(): void {
    const { isCurrent } = this.#options;
    for (const log of this.#logs) {
      log.forget((entry) => {
        const isGone = entry.isReplaced || !isCurrent(entry.item);
        if (isGone) this.#dropped(entry);
        return isGone;
      });
    }
  }

  #armAgain(): void {
    this.#againTimer = this.#options.clock.after(AGAIN_LOOK_MS, () => {
      this.#tellAgain();
      this.#armAgain();
    });
  }

  /** What a peer shows to have is looked at again too: that peer may go, and nobody else have it. */
  #tellAgain(): void {
    const { clock, isCurrent } = this.#options;
    const nowMs = clock.nowMs();
    for (const entry of [...this.#current.values()]) {
      if (entry.againMs > nowMs) continue;
      if (!isCurrent(entry.item)) this.#dropped(entry);
      else if (this.#isWithPeer(entry.key)) entry.againMs = nowMs + entry.waitMs;
      else this.#add(2, entry.key, entry.item, Math.min(2 * entry.waitMs, AGAIN_MS_MAX));
    }
  }

  #isWithPeer(key: string): boolean {
    for (const { known } of this.#peers.values()) if (known.has(key)) return true;
    return false;
  }

  /** What a peer is told next, as told. */
  #take(told: Told): readonly T[] {
    const taken: T[] = [];
    for (const index of LOGS) {
      told.next[index] = this.#logs[index]!.walk(told.next[index], (entry) => {
        if (!this.#isNews(told, entry)) return 'passed';
        if (taken.length >= ITEMS_PER_MESSAGE_MAX) return 'stop';
        entry.told += 1;
        taken.push(entry.item);
        return 'taken';
      });
    }
    return taken;
  }

  #hasNews(told: Told): boolean {
    let hasNews = false;
    for (const index of LOGS) {
      told.next[index] = this.#logs[index]!.walk(told.next[index], (entry) => {
        if (!this.#isNews(told, entry)) return 'passed';
        hasNews = true;
        return 'stop';
      });
    }
    return hasNews;
  }

  #isNews({ known }: Told, { key, item, told, isReplaced }: Announced<T>): boolean {
    const { isCurrent, peersPerItemMax } = this.#options;
    return !isReplaced && told < peersPerItemMax && !known.has(key) && isCurrent(item);
  }

  #toldTo(peerId: PeerId): Told {
    let told = this.#peers.get(peerId);
    if (told === undefined) {
      const { burst, everyMs } = this.#options.rate;
      const bucket = this.#buckets.get(peerId) ?? new TokenBucket(burst, everyMs);
      this.#buckets.set(peerId, bucket);
      told = { bucket, known: new LruMap(KNOWN_PER_PEER_MAX), lastMs: 0, next: [0, 0, 0] };
      this.#peers.set(peerId, told);
    }
    return told;
  }

  #arm(delayMs: number): void {
    const { clock } = this.#options;
    const dueMs = clock.nowMs() + delayMs;
    if (this.#stopped || dueMs >= this.#timerDueMs) return;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    this.#timer = clock.after(delayMs, () => {
      this.#timerDueMs = Infinity;
      this.#tell();
    });
  }
}
