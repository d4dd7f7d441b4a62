/**
 * Decides which peers this node dials, and when it dials a peer again. The node dials a fixed peer again and again
 * until the peer is connected. After a failed dial or the end of a connection, the node waits about 1 to 60 s before it
 * dials the fixed peer again. Every `populateMs` milliseconds, a round of dialling starts. In this round, the node
 * dials peers of the peer book that are not fixed peers. The node dials seeds to get their lists of peers. Every
 * `shuffleMs` milliseconds, if `outboundMax` allows no further outbound connection, the node disconnects one peer that
 * it dialled. The node can then dial another peer in the next round of dialling.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import {
  peerIdOf,
  type CloseReason,
  type Connection,
  type PeerAddress,
  type PeerId,
  type PeerInfo,
  type Transport,
} from '../../ports/transport.ts';
import { ipOf, isLoopback, isPlausible, isSpecial } from './addresses.ts';
import type { PeerBook } from './book.ts';
import { DialPlan } from './dial-plan.ts';
import { selectToDial, selectToExchange, shuffled, TRIED_ENOUGH } from './selection.ts';

export interface PeerIntervals {
  /** Time in milliseconds between two rounds of dialling. The default is 10 000, as in lisk-sdk. */
  readonly populateMs: number;
  /** Interval in milliseconds at which the node asks its seeds for lists of peers. The default is 30 000. */
  readonly seedMs: number;
  /**
   * Interval in milliseconds at which the node disconnects one peer that it dialled, to dial another peer instead. The
   * node does so only if `outboundMax` allows no further outbound connection. The default is 300 000.
   */
  readonly shuffleMs: number;
}

export interface DiallerOptions {
  /** The address at which this node listens. The node uses this address to avoid dialling itself. */
  readonly own: PeerAddress;
  /**
   * Maximum number of outbound connections at the same time. The number includes the connections to fixed peers. The
   * node dials all fixed peers, even if there are more fixed peers than this maximum.
   */
  readonly outboundMax: number;
  /**
   * The fixed peers. The node dials a fixed peer whenever the peer is not connected. The node never disconnects a fixed
   * peer to make room for another peer.
   */
  readonly fixed: ReadonlyMap<PeerId, PeerAddress>;
  /**
   * Peers that the node asks for the addresses of other peers. Every `seedMs` milliseconds, the node disconnects its
   * seeds if `outboundMax` allows no further outbound connection.
   */
  readonly seeds: ReadonlyMap<PeerId, PeerAddress>;
  /**
   * Fixed and whitelisted peers. These peers stay in the peer book, even if a dial failed for a reason that does not
   * change while both nodes run, for example because the peer is on another network (`DialOutcome`, `hopeless`).
   */
  readonly pinned: ReadonlySet<PeerId>;
  readonly intervals: PeerIntervals;
  /** Returns true if an IP address is neither blacklisted nor banned. */
  admits(ip: string): boolean;
  /**
   * Called when a dial failed. Not called if the peer was already connected, or if the address leads back to this node.
   *
   * @param isFinal true if the reason does not change while both nodes run, for example because the peer is on another network
   */
  dialFailed(peerId: PeerId, reason: CloseReason, isFinal: boolean): void;
}

export interface DiallerDependencies {
  readonly transport: Pick<Transport, 'connect' | 'connections' | 'disconnect' | 'request'>;
  readonly book: PeerBook;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
}

/**
 * Maximum time in milliseconds from the arrival of a list of peers to the next round of dialling. This maximum applies
 * only while the node has at most as many connections as it has fixed peers and seeds together.
 */
const DISCOVERED_WAIT_MS = 1_000;

export class Dialler {
  readonly #transport: DiallerDependencies['transport'];
  readonly #book: PeerBook;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: Observer;
  readonly #options: DiallerOptions;
  readonly #plan: DialPlan;
  readonly #timers = new Map<'tend' | 'seeds' | 'shuffle', Timer>();
  #nextRoundMs = 0;
  #stopped = true;

  constructor({ transport, book, clock, random, observer }: DiallerDependencies, options: DiallerOptions) {
    this.#transport = transport;
    this.#book = book;
    this.#clock = clock;
    this.#random = random;
    this.#observer = observer;
    this.#options = options;
    this.#plan = new DialPlan(clock, random);
  }

  /** Begins immediately to dial peers. */
  start(): void {
    this.#stopped = false;
    this.#nextRoundMs = this.#clock.nowMs();
    this.#tend();
    this.#repeat('seeds', this.#options.intervals.seedMs, () => {
      this.#askSeeds();
    });
    this.#askSeeds();
    this.#repeat('shuffle', this.#options.intervals.shuffleMs, () => {
      this.#shuffleOne();
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /**
   * Called when an outbound connection has opened. The dialler then asks the connected peer for the addresses of other
   * peers.
   */
  connected({ peerId }: Connection): void {
    void this.#discover(peerId);
  }

  /** Called when a connection ended, whether this node or the peer had opened the connection. */
  disconnected(peerId: PeerId, { code }: CloseReason): void {
    this.#plan.lost(peerId, code, this.#options.fixed.has(peerId));
    this.#arm();
  }

  isDialling(peerId: PeerId): boolean {
    return this.#plan.isDialling(peerId);
  }

  /**
   * Unix time in milliseconds of the earliest next dial of the address. The time is 0 if the node does not have to
   * wait, and infinite if the node does not dial the address again (`DialPlan.dueMs`).
   */
  dueMs(peerId: PeerId): number {
    return this.#plan.dueMs(peerId);
  }

  /**
   * Dials the given seeds in random order, as far as `outboundMax` allows. Omits the seeds that are connected, the
   * seeds that the node is dialling, and the seeds for which the wait before the next dial has not ended. Does nothing
   * if the book has at least `TRIED_ENOUGH` tried peers.
   */
  dialSeeds(seeds: readonly (readonly [PeerId, PeerAddress])[]): void {
    if (this.#stopped || this.#book.peers('tried').length >= TRIED_ENOUGH) return;
    const due = seeds.filter(([peerId]) => this.#isMissing(peerId) && this.#plan.isDue(peerId));
    for (const [, address] of shuffled(due, this.#random).slice(0, Math.max(0, this.#free()))) this.#dial(address);
  }

  /** Returns whether an address leads back to this node. */
  isOwn(address: PeerAddress): boolean {
    return this.#plan.isOwn(peerIdOf(address)) || isOwnAddress(address, this.#options.own);
  }

  /**
   * Dials the fixed peers whose next dial is due. If the next round of dialling is due, also dials peers of the peer
   * book. Then sets the timer for the next call of this method.
   */
  #tend(): void {
    if (this.#stopped) return;
    const nowMs = this.#clock.nowMs();
    for (const [peerId, address] of this.#options.fixed) {
      if (this.#isMissing(peerId) && this.#plan.isDue(peerId)) this.#dial(address);
    }
    if (nowMs >= this.#nextRoundMs) {
      this.#nextRoundMs = nowMs + this.#options.intervals.populateMs;
      for (const address of this.#chosen()) this.#dial(address);
    }
    this.#arm();
  }

  /**
   * Sets the timer to the start of the next round of dialling (see `PeerIntervals.populateMs`). If the dial of a fixed
   * peer is due before this start, sets the timer to the time of this dial.
   */
  #arm(): void {
    if (this.#stopped) return;
    let dueMs = this.#nextRoundMs;
    for (const peerId of this.#options.fixed.keys()) {
      if (this.#isMissing(peerId)) dueMs = Math.min(dueMs, this.#plan.dueMs(peerId));
    }
    this.#timers.get('tend')?.cancel();
    const delayMs = Math.max(0, dueMs - this.#clock.nowMs());
    this.#timers.set(
      'tend',
      this.#clock.after(delayMs, () => {
        this.#tend();
      }),
    );
  }

  /**
   * Returns the number of further outbound connections that the node is allowed to open to peers that are not fixed
   * peers. For each fixed peer that is not connected, the method reserves one connection. The number can be negative,
   * for example if there are more fixed peers than `outboundMax`.
   */
  #free(): number {
    const open = this.#transport.connections().filter((connection) => connection.direction === 'outbound').length;
    const missing = [...this.#options.fixed.keys()].filter((peerId) => !this.#isConnected(peerId)).length;
    const dialling = this.#plan.dialling().filter((peerId) => !this.#options.fixed.has(peerId)).length;
    return this.#options.outboundMax - open - missing - dialling;
  }

  #chosen(): PeerAddress[] {
    const outbound = this.#transport.connections().filter((connection) => connection.direction === 'outbound');
    const taken = new Set(outbound.map((connection) => connection.info.ip));
    const candidates = this.#book.peers().filter(({ info }) => {
      const peerId = peerIdOf(info);
      if (!this.#isMissing(peerId) || !this.#plan.isDue(peerId) || this.#options.fixed.has(peerId)) return false;
      // The node dials pinned peers (fixed and whitelisted peers) even at addresses with a special purpose
      // (`isSpecial`). A peer book that an earlier version of Bloomery saved can contain other peers at such addresses.
      // The node does not dial these other peers.
      if (isSpecial(info.ip) && !this.#options.pinned.has(peerId)) return false;
      return this.#options.admits(info.ip) && !this.isOwn(info) && (isLoopback(info.ip) || !taken.has(info.ip));
    });
    const ofList = (list: 'new' | 'tried'): PeerInfo[] =>
      candidates.filter((peer) => peer.list === list).map((peer) => peer.info);
    const groupOf = ({ ip }: PeerInfo): number | undefined => this.#book.spreadGroupOf(ip);
    const takenGroups = [...taken, ...this.#plan.dialling().map(ipOf)].map((ip) => this.#book.spreadGroupOf(ip));
    const spread = { groupOf, taken: takenGroups };
    return onePerIp(selectToDial(ofList('new'), ofList('tried'), this.#free(), this.#random, spread));
  }

  #dial(address: PeerAddress): void {
    const peerId = peerIdOf(address);
    this.#plan.begin(peerId);
    this.#transport
      .connect({ ip: address.ip, wsPort: address.wsPort })
      .then(() => {
        this.#plan.succeeded(peerId);
      })
      .catch((error: unknown) => {
        this.#dialFailed(peerId, error);
      })
      .finally(() => {
        this.#arm();
      });
  }

  #dialFailed(peerId: PeerId, error: unknown): void {
    const code = error instanceof ProtocolError ? error.data['code'] : undefined;
    const reason = error instanceof ProtocolError ? String(error.data['reason']) : messageOf(error);
    const outcome = this.#plan.failed(peerId, typeof code === 'number' ? code : 1006, this.#options.fixed.has(peerId));
    if (outcome === 'unreachable') this.#book.fail(peerId);
    if (outcome === 'hopeless' && !this.#options.pinned.has(peerId)) this.#book.remove(peerId);
    if (outcome === 'hopeless' || outcome === 'unreachable')
      this.#options.dialFailed(
        peerId,
        { code: typeof code === 'number' ? code : 1006, reason },
        outcome === 'hopeless',
      );
    this.#observer.log('debug', 'PEER_DIAL_FAILED', 'A peer could not be dialled', { peer: peerId, code, reason });
  }

  /**
   * If `outboundMax` allows further outbound connections, asks the connected seeds for peers and dials the other seeds
   * (`dialSeeds`). If `outboundMax` allows no further outbound connection, disconnects the seeds.
   */
  #askSeeds(): void {
    const free = this.#free();
    const connected = [...this.#options.seeds.keys()].filter((peerId) => this.#isConnected(peerId));
    if (free <= 0) {
      const reason = { code: 1000, reason: 'Disconnect from SeedPeer after discovery' };
      for (const peerId of connected) this.#transport.disconnect(peerId, reason);
    } else {
      for (const peerId of connected) void this.#discover(peerId);
      this.dialSeeds([...this.#options.seeds]);
    }
  }

  async #discover(peerId: PeerId): Promise<void> {
    try {
      const peers = await this.#transport.request(peerId, { kind: 'peers' });
      for (const peer of peers) {
        if (this.isOwn(peer) || !this.#options.admits(peer.ip) || !isPlausible(peer.ip, ipOf(peerId))) continue;
        this.#book.add(peer, ipOf(peerId));
      }
      // If the node has few connections, the next round of dialling begins early (see `DISCOVERED_WAIT_MS`).
      if (
        peers.length > 0 &&
        this.#transport.connections().length <= this.#options.fixed.size + this.#options.seeds.size
      ) {
        this.#nextRoundMs = Math.min(this.#nextRoundMs, this.#clock.nowMs() + DISCOVERED_WAIT_MS);
        this.#arm();
      }
    } catch (error) {
      const fields = { peer: peerId, reason: messageOf(error) };
      this.#observer.log('debug', 'PEER_DISCOVERY_FAILED', 'A peer gave no list of peers', fields);
    }
  }

  /**
   * Disconnects one outbound peer that is not a fixed peer, so that the node dials another peer in the next round of
   * dialling. It is possible that all outbound connections lead to peers of one attacker. Without this exchange, the
   * attacker could keep these connections for an unlimited time.
   */
  #shuffleOne(): void {
    // If `outboundMax` allows a further outbound connection, the node can dial another peer and does not have to
    // disconnect a peer.
    if (this.#free() > 0) return;
    const outbound = this.#transport
      .connections()
      .filter(({ direction, peerId }) => direction === 'outbound' && !this.#options.fixed.has(peerId));
    const chosen = selectToExchange(outbound, ({ info }) => this.#book.spreadGroupOf(info.ip), this.#random);
    if (chosen === undefined) return;
    this.#transport.disconnect(chosen.peerId, { code: 4418, reason: `Evicted outbound peer ${chosen.peerId}` });
  }

  #isConnected(peerId: PeerId): boolean {
    return this.#transport.connections().some((connection) => connection.peerId === peerId);
  }

  #isMissing(peerId: PeerId): boolean {
    return !this.#plan.isDialling(peerId) && !this.#isConnected(peerId);
  }

  #repeat(name: 'seeds' | 'shuffle', intervalMs: number, work: () => void): void {
    const timer = this.#clock.after(intervalMs, () => {
      work();
      if (!this.#stopped) this.#repeat(name, intervalMs, work);
    });
    this.#timers.set(name, timer);
  }
}

/** True if a node that listens at `own` would dial itself by dialling `address`. */
export function isOwnAddress(address: PeerAddress, own: PeerAddress): boolean {
  const isHere = address.ip === own.ip || address.ip === '0.0.0.0' || (isLoopback(address.ip) && own.ip === '0.0.0.0');
  return isHere && address.wsPort === own.wsPort;
}

/**
 * Selects one peer for each IP address: the peer with the greatest announced height. At a loopback address, the
 * function selects all peers, because nodes on this machine share an IP address.
 */
function onePerIp(peers: readonly PeerInfo[]): PeerInfo[] {
  const best = new Map<string, PeerInfo>();
  for (const peer of peers) {
    const key = isLoopback(peer.ip) ? peerIdOf(peer) : peer.ip;
    const rival = best.get(key);
    if (rival === undefined || (peer.height ?? 0) > (rival.height ?? 0)) best.set(key, peer);
  }
  return [...best.values()];
}
