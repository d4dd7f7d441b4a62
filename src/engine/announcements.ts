/**
 * What peers are told unasked, and when: each peer at its own pace, several things at a time, what it does not have yet. What
 * is new goes out within moments to every peer that was not told anything lately; to the others with what gathers meanwhile.
 * As each peer's turn comes at another time, news is soon with some, who pass it on.
 */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId } from '../ports/transport.ts';

/** Items of one message, as the wire allows. */
export const ITEMS_PER_MESSAGE_MAX = 25;
/** Things that are kept to be told: as many as a full pool can cause. */
export const ITEMS_MAX = 5_000;
/** What a connected peer is known to have: what is forgotten is told once more than needed. */
export const KNOWN_PER_PEER_MAX = 500;
/** Peers whose rate is remembered, as they go on counting when a connection ends: more than can be connected. */
export const PEERS_MAX = 20_000;
/** News waits for so long for more of it. */
const GATHER_MS = 200;

export interface AnnouncementOptions<T> {
  readonly clock: Clock;
  /** Connected peers that may be told now. */
  readonly targets: () => readonly PeerId[];
  /** Peers that one thing is told to. */
  readonly peersPerItemMax: number;
  /** What one peer is told at most. */
  readonly rate: Sending;
  readonly keyOf: (item: T) => string;
  /** False for what is no news any more. */
  readonly isCurrent: (item: T) => boolean;
  readonly send: (peerId: PeerId, items: readonly T[]) => void;
}

interface Entry<T> {
  readonly key: string;
  readonly item: T;
  told: number;
}

/** Things in the order of their arrival, each with a number that stays. */
class Log<T> {
  #firstNumber = 0;
  #entries: Entry<T>[] = [];

  add(entry: Entry<T>): void {
    this.#entries.push(entry);
    if (this.#entries.length <= ITEMS_MAX) return;
    this.#entries.shift();
    this.#firstNumber += 1;
  }

  /** Walks on from a number. @returns the number of the first entry that was not taken although it could have been */
  walk(from: number, take: (entry: Entry<T>) => 'taken' | 'passed' | 'stop'): number {
    let number = Math.max(from, this.#firstNumber);
    for (; number < this.#firstNumber + this.#entries.length; number += 1) {
      const entry = this.#entries[number - this.#firstNumber];
      if (entry !== undefined && take(entry) === 'stop') break;
    }
    return number;
  }

  forget(isGone: (entry: Entry<T>) => boolean): void {
    while (this.#entries[0] !== undefined && isGone(this.#entries[0])) {
      this.#entries.shift();
      this.#firstNumber += 1;
    }
  }
}

interface Told {
  readonly bucket: TokenBucket;
  readonly known: LruMap<string, true>;
  /** Numbers in the logs from which on it was told nothing. */
  readonly next: [firstHand: number, relayed: number];
}

export class Announcements<T> {
  readonly #options: AnnouncementOptions<T>;
  /** What came in here first, and what others have told of: they do so themselves, so it comes second. */
  readonly #logs: readonly [firstHand: Log<T>, relayed: Log<T>] = [new Log(), new Log()];
  /** Connected peers. */
  readonly #peers = new Map<PeerId, Told>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  readonly #heard = new LruMap<string, true>(ITEMS_MAX);
  #timer: Timer | undefined;
  #timerDueMs = Infinity;
  #stopped = true;

  constructor(options: AnnouncementOptions<T>) {
    this.#options = options;
  }

  start(): void {
    this.#stopped = false;
    this.#arm(GATHER_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  add(item: T): void {
    const key = this.#options.keyOf(item);
    const isRelayed = this.#heard.has(key);
    this.#logs[isRelayed ? 1 : 0].add({ key, item, told: 0 });
    this.#arm(GATHER_MS);
  }

  /** A peer has these: it told of them itself. */
  heard(peerId: PeerId, keys: readonly string[]): void {
    const { known } = this.#toldTo(peerId);
    for (const key of keys) {
      this.#heard.set(key, true);
      known.set(key, true);
    }
  }

  /** A connection is open: its peer is told what is current. */
  connected(): void {
    this.#arm(GATHER_MS);
  }

  /** A connection ended. When its peer comes back it is told everything again, as it may have lost it. */
  disconnected(peerId: PeerId): void {
    this.#peers.delete(peerId);
  }

  #tell(): void {
    const { clock, isCurrent, targets, send } = this.#options;
    for (const log of this.#logs) log.forget(({ item }) => !isCurrent(item));
    let nextMs = Infinity;
    for (const peerId of targets()) {
      const told = this.#toldTo(peerId);
      if (!this.#hasNews(told)) continue;
      const nowMs = clock.nowMs();
      if (told.bucket.take(nowMs)) {
        send(peerId, this.#take(told));
        if (!this.#hasNews(told)) continue;
      }
      nextMs = Math.min(nextMs, told.bucket.waitMs(nowMs));
    }
    if (nextMs < Infinity) this.#arm(Math.max(1, nextMs));
  }

  /** What a peer is told next, as told. */
  #take(told: Told): readonly T[] {
    const taken: T[] = [];
    for (const index of [0, 1] as const) {
      told.next[index] = this.#logs[index].walk(told.next[index], (entry) => {
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
    for (const index of [0, 1] as const) {
      told.next[index] = this.#logs[index].walk(told.next[index], (entry) => {
        if (!this.#isNews(told, entry)) return 'passed';
        hasNews = true;
        return 'stop';
      });
    }
    return hasNews;
  }

  #isNews({ known }: Told, { key, item, told }: Entry<T>): boolean {
    const { isCurrent, peersPerItemMax } = this.#options;
    return told < peersPerItemMax && !known.has(key) && isCurrent(item);
  }

  #toldTo(peerId: PeerId): Told {
    let told = this.#peers.get(peerId);
    if (told === undefined) {
      const { burst, everyMs } = this.#options.rate;
      const bucket = this.#buckets.get(peerId) ?? new TokenBucket(burst, everyMs);
      this.#buckets.set(peerId, bucket);
      told = { bucket, known: new LruMap(KNOWN_PER_PEER_MAX), next: [0, 0] };
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
