/**
 * Announces items (transaction ids, transactions or signatures) to peers. Each peer gets announcement messages at a
 * limited rate. A message has at most 25 items. The node does not announce an item to a peer that is known to have the
 * item. The node first announces a new item to at most three peers. For this step, the node chooses the peers to which
 * it has sent no announcement for the longest time. The node then announces the item to further peers one after
 * another. The node spreads its messages to the peers evenly over time. When a new item arrives, the rate limits of
 * several peers therefore usually allow an immediate message. If no connected peer is known to have an item 30 s after
 * the item arrived, the node announces the item again.
 */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Sending } from '../ports/rates.ts';
import type { PeerId } from '../ports/transport.ts';
import { type Announced, AnnouncementLog } from './announcement-log.ts';

/** Maximum number of items in one message. The wire protocol sets this limit. */
export const ITEMS_PER_MESSAGE_MAX = 25;
/**
 * Maximum number of entries in each of the three logs of announcements (`#logs`). A full transaction pool with the
 * default limits has the same number of transactions.
 */
export const ITEMS_MAX = 5_000;
/**
 * Maximum number of items that the node remembers as known to one peer. If the node has forgotten that the peer has an
 * item, the node can announce the item to the peer needlessly.
 */
export const KNOWN_PER_PEER_MAX = 500;
/**
 * Maximum number of peers whose token bucket the node remembers. The number is larger than the number of connections
 * that the transport allows. The node therefore usually still remembers the bucket of a peer that reconnects. Such a
 * peer gets no more messages than the rate allows.
 */
export const PEERS_MAX = 20_000;
/**
 * Maximum time in milliseconds for which the node waits for further new items before it announces a new item. Because
 * of this wait, one message can announce several new items.
 */
const GATHER_MS = 200;
/**
 * Maximum number of peers to which the node sends a message at the same moment. If each node announces an item to three
 * other nodes, the item reaches hundreds of nodes in five steps.
 */
const AT_ONCE_MAX = 3;
/**
 * Time in milliseconds from the arrival of an item to the check whether a connected peer is known to have the item. If,
 * at this check, no connected peer is known to have the item, the node announces the item again. Each time the node
 * announces the item again in this way, the time doubles, up to `AGAIN_MS_MAX`.
 */
const AGAIN_MS = 30_000;
const AGAIN_MS_MAX = 600_000;
/** Time in milliseconds between two searches for items that the node must announce again. */
const AGAIN_LOOK_MS = 10_000;

export interface AnnouncementOptions<T> {
  readonly clock: Clock;
  /**
   * Returns the peers to which the node can send an announcement now: all connected peers, or a random choice of the
   * connected peers.
   */
  readonly targets: () => readonly PeerId[];
  /**
   * Maximum number of peers to which the node announces one item. When the node announces an item again because no
   * connected peer is known to have the item, the count begins again at 0.
   */
  readonly peersPerItemMax: number;
  /** Maximum rate of messages to one peer. */
  readonly rate: Sending;
  readonly keyOf: (item: T) => string;
  /**
   * Returns true if the node must still announce an item. This is the case while the pool has the transaction to which
   * the item belongs.
   */
  readonly isCurrent: (item: T) => boolean;
  readonly send: (peerId: PeerId, items: readonly T[]) => void;
}

const LOGS = [0, 1, 2] as const;

interface PeerState {
  readonly bucket: TokenBucket;
  /**
   * Keys of the items that the peer is known to have: the peer announced the item, or asked this node for the item and
   * got it.
   */
  readonly known: LruMap<string, true>;
  /**
   * Unix time in milliseconds of the last message to this peer; 0 if the node has sent no message since the peer
   * connected.
   */
  lastMs: number;
  /**
   * For each of the three logs, the number of the entry at which the node continues to search for items that it must
   * announce to this peer.
   */
  readonly next: [firstHand: number, relayed: number, again: number];
}

export class Announcements<T> {
  readonly #options: AnnouncementOptions<T>;
  /**
   * Three logs of items. A message to a peer takes items from the first log, then from the second log, then from the
   * third log. The first log has items that this node got before any peer announced them. The second log has items that
   * a peer announced to this node. The third log has items that the node announces again.
   */
  readonly #logs = LOGS.map(() => new AnnouncementLog<T>(ITEMS_MAX));
  /** For each key, the latest entry in any of the three logs. */
  readonly #current = new Map<string, Announced<T>>();
  /** The state of each connected peer. */
  readonly #peers = new Map<PeerId, PeerState>();
  readonly #buckets = new LruMap<PeerId, TokenBucket>(PEERS_MAX);
  readonly #announcedByPeers = new LruMap<string, true>(ITEMS_MAX);
  #timer: Timer | undefined;
  #timerDueMs = Infinity;
  #againTimer: Timer | undefined;
  /**
   * Unix time in milliseconds, with which the node spreads its messages evenly over time. One `#turnsMs` applies to the
   * messages to all peers together, so at most `AT_ONCE_MAX` messages leave at the same moment. A step is the interval
   * between two messages to one peer, divided by the number of peers. When the node sends a message, the node adds one
   * step to `#turnsMs`. If the old value is in the past, the node sets `#turnsMs` to one step after the present time
   * instead. The node sends the next message as soon as `#turnsMs` is at most `AT_ONCE_MAX - 1` steps ahead of the
   * present time.
   */
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
    this.#add(this.#announcedByPeers.has(key) ? 1 : 0, key, item, AGAIN_MS);
  }

  /**
   * Announces an item again. If no log has the item any more, the method adds the item as a new item. If a log still
   * has the item, the method announces the item again only if two conditions hold. First, no connected peer is known to
   * have the item. Second, at least `AGAIN_LOOK_MS` have passed since the node created the latest entry of the item or
   * last checked this entry.
   */
  addAgain(item: T): void {
    const nowMs = this.#options.clock.nowMs();
    const key = this.#options.keyOf(item);
    const entry = this.#current.get(key);
    if (entry === undefined) this.add(item);
    else if (nowMs >= entry.againMs - entry.waitMs + AGAIN_LOOK_MS && !this.#isWithPeer(key))
      this.#add(2, key, item, entry.waitMs);
  }

  /** Records that a peer has announced the items with these keys, and therefore has these items. */
  announcedBy(peerId: PeerId, keys: readonly string[]): void {
    for (const key of keys) this.#announcedByPeers.set(key, true);
    this.given(peerId, keys);
  }

  /**
   * Records that a peer has the items with these keys: the peer announced them, or asked this node for them and got
   * them.
   */
  given(peerId: PeerId, keys: readonly string[]): void {
    const { known } = this.#stateOf(peerId);
    for (const key of keys) known.set(key, true);
  }

  /**
   * Called when a connection opens. From this time on, the node can also announce earlier items to this peer. Such an
   * item must still be current (`isCurrent`), and the node must have announced the item to fewer than `peersPerItemMax`
   * peers.
   */
  connected(): void {
    this.#arm(GATHER_MS);
  }

  /**
   * Called when a connection ends. The method forgets which items the peer had, because the peer can have lost these
   * items. If the peer connects again, the node therefore announces these items to the peer again.
   */
  disconnected(peerId: PeerId): void {
    this.#peers.delete(peerId);
  }

  #add(log: (typeof LOGS)[number], key: string, item: T, waitMs: number): void {
    const before = this.#current.get(key);
    if (before !== undefined) before.isReplaced = true;
    const againMs = this.#options.clock.nowMs() + waitMs;
    const entry: Announced<T> = { key, item, timesSent: 0, isReplaced: false, againMs, waitMs };
    this.#current.set(key, entry);
    this.#dropped(this.#logs[log]?.add(entry));
    this.#arm(GATHER_MS);
  }

  #dropped(entry: Announced<T> | undefined): void {
    if (entry !== undefined && this.#current.get(entry.key) === entry) this.#current.delete(entry.key);
  }

  #sendDue(): void {
    const { clock, targets, send } = this.#options;
    this.#forgetOld();
    const peers = targets();
    const waiting = peers.map((peerId) => ({ peerId, state: this.#stateOf(peerId) }));
    // The peers to which the node has sent no announcement for the longest time come first.
    waiting.sort((a, b) => a.state.lastMs - b.state.lastMs);
    const turnMs = this.#options.rate.everyMs / Math.max(1, peers.length);
    let nextMs = Infinity;
    for (const { peerId, state } of waiting) {
      if (!this.#hasUnsent(state)) continue;
      const nowMs = clock.nowMs();
      const turnWaitMs = this.#turnsMs - (AT_ONCE_MAX - 1) * turnMs - nowMs;
      const waitMs = Math.max(state.bucket.waitMs(nowMs), turnWaitMs);
      if (waitMs <= 0 && state.bucket.take(nowMs)) {
        this.#turnsMs = Math.max(this.#turnsMs, nowMs) + turnMs;
        state.lastMs = nowMs;
        send(peerId, this.#take(state));
        if (!this.#hasUnsent(state)) continue;
      }
      nextMs = Math.min(nextMs, Math.max(state.bucket.waitMs(nowMs), turnWaitMs));
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
      this.#announceAgain();
      this.#armAgain();
    });
  }

  /**
   * Checks each item whose `againMs` has passed. If a connected peer is known to have the item, the method checks the
   * item again after `waitMs`, because it is possible that the peer disconnects. If the pool no longer has the
   * transaction of the item (`isCurrent` returns false), the method also checks the item again after `waitMs`, because
   * it is possible that the pool gets the transaction again. In all other cases, the method announces the item again.
   * While a list in `#logs` contains an entry, the method does not remove this entry from the map `#current`. If
   * the pool gets the transaction again, `#add` adds a second entry of the item, finds the first entry in the map, and
   * marks the first entry as replaced. Without this mark, one message could contain the item twice.
   */
  #announceAgain(): void {
    const { clock, isCurrent } = this.#options;
    const nowMs = clock.nowMs();
    for (const entry of [...this.#current.values()]) {
      if (entry.againMs > nowMs) continue;
      if (!isCurrent(entry.item) || this.#isWithPeer(entry.key)) entry.againMs = nowMs + entry.waitMs;
      else this.#add(2, entry.key, entry.item, Math.min(2 * entry.waitMs, AGAIN_MS_MAX));
    }
  }

  #isWithPeer(key: string): boolean {
    for (const { known } of this.#peers.values()) if (known.has(key)) return true;
    return false;
  }

  /** Takes the next items for a peer, and marks them as announced to the peer. */
  #take(state: PeerState): readonly T[] {
    const taken: T[] = [];
    for (const index of LOGS) {
      state.next[index] = this.#logs[index]!.walk(state.next[index], (entry) => {
        if (!this.#isUnsent(state, entry)) return 'passed';
        if (taken.length >= ITEMS_PER_MESSAGE_MAX) return 'stop';
        entry.timesSent += 1;
        taken.push(entry.item);
        return 'taken';
      });
    }
    return taken;
  }

  #hasUnsent(state: PeerState): boolean {
    let hasUnsent = false;
    for (const index of LOGS) {
      state.next[index] = this.#logs[index]!.walk(state.next[index], (entry) => {
        if (!this.#isUnsent(state, entry)) return 'passed';
        hasUnsent = true;
        return 'stop';
      });
    }
    return hasUnsent;
  }

  #isUnsent({ known }: PeerState, { key, item, timesSent, isReplaced }: Announced<T>): boolean {
    const { isCurrent, peersPerItemMax } = this.#options;
    return !isReplaced && timesSent < peersPerItemMax && !known.has(key) && isCurrent(item);
  }

  #stateOf(peerId: PeerId): PeerState {
    let state = this.#peers.get(peerId);
    if (state === undefined) {
      const { burst, everyMs } = this.#options.rate;
      const bucket = this.#buckets.get(peerId) ?? new TokenBucket(burst, everyMs);
      this.#buckets.set(peerId, bucket);
      state = { bucket, known: new LruMap(KNOWN_PER_PEER_MAX), lastMs: 0, next: [0, 0, 0] };
      this.#peers.set(peerId, state);
    }
    return state;
  }

  #arm(delayMs: number): void {
    const { clock } = this.#options;
    const dueMs = clock.nowMs() + delayMs;
    if (this.#stopped || dueMs >= this.#timerDueMs) return;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    this.#timer = clock.after(delayMs, () => {
      this.#timerDueMs = Infinity;
      this.#sendDue();
    });
  }
}
