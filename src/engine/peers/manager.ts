/**
 * Peers over the transport: whom to dial and when again, whom to believe, whom to let go. Times are kept on the clock that is
 * handed in; the book lives in the notes of the store between runs.
 */

import { assert, messageOf, ProtocolError } from '../../primitives/errors.ts';
import { LruMap } from '../../primitives/bounded.ts';
import type { Clock, Random, Timer } from '../../ports/clock.ts';
import type { Observer } from '../../ports/observer.ts';
import type { ChainStore } from '../../ports/store.ts';
import type {
  CloseReason,
  Connection,
  PeerAddress,
  PeerId,
  PeerInfo,
  Transport,
  TransportHandlers,
} from '../../ports/transport.ts';
import { ipOf, isLoopback, peerIdOf } from './addresses.ts';
import { type Ban, PeerBook } from './book.ts';
import { DialPlan } from './dial-plan.ts';
import { BAN_MS, pointsOf, REPUTATION_FULL } from './penalties.ts';
import { selectToDial, selectToEvict, selectToList, selectToTell, shuffled, TRIED_ENOUGH } from './selection.ts';

export interface PeerManagerOptions {
  /** Where this node listens, so that it does not dial itself. */
  readonly own: PeerAddress;
  /** Connections that this node opens, fixed peers included. */
  readonly outboundMax: number;
  /** Peers that one message goes to when not everybody gets it. */
  readonly gossipPeersMax: number;
  /** Always dialled, never let go; application penalties do not count. */
  readonly fixedPeers: readonly PeerAddress[];
  /** Asked for others; let go when no outbound connection is free. */
  readonly seedPeers: readonly PeerAddress[];
  /** Kept in the book and never evicted; application penalties do not count. */
  readonly whitelistedPeers: readonly PeerAddress[];
  readonly blacklistedIps: readonly string[];
  readonly intervals?: Partial<PeerIntervals>;
}

export interface PeerIntervals {
  /** Between rounds of dialling. Default 10 000, as the reference. */
  readonly populateMs: number;
  /** Between rounds of asking seeds. Default 30 000. */
  readonly seedMs: number;
  /** Between exchanges of one outbound peer for another. Default 300 000. */
  readonly shuffleMs: number;
}

export interface PeerManagerDependencies {
  readonly transport: Transport;
  readonly store: Pick<ChainStore, 'note' | 'transact'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
}

/** What the rest of the engine does with peers. */
export interface PeerHandlers {
  readonly answer: TransportHandlers['answer'];
  readonly message: TransportHandlers['message'];
  connected?(connection: Connection): void;
  disconnected?(peerId: PeerId, reason: CloseReason): void;
  updated?(peerId: PeerId, info: PeerInfo): void;
}

/** A connection that ended, with the reason. */
export interface DroppedPeer {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  readonly code: number;
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

const INTERVALS: PeerIntervals = { populateMs: 10_000, seedMs: 30_000, shuffleMs: 300_000 };
const NOTE = 'peers/book';
const DROPPED_MAX = 200;
const REPUTATIONS_MAX = 5_000;
const FORBIDDEN: CloseReason = { code: 4403, reason: 'Peer is not allowed to connect' };

export class PeerManager {
  readonly #transport: Transport;
  readonly #store: PeerManagerDependencies['store'];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: Observer;
  readonly #options: PeerManagerOptions;
  readonly #intervals: PeerIntervals;
  readonly #book: PeerBook;
  readonly #plan: DialPlan;
  readonly #fixed: ReadonlyMap<PeerId, PeerAddress>;
  readonly #seeds: ReadonlyMap<PeerId, PeerAddress>;
  readonly #pinned: ReadonlySet<PeerId>;
  readonly #reputations = new LruMap<PeerId, number>(REPUTATIONS_MAX);
  readonly #timers = new Map<string, Timer>();
  #dropped: DroppedPeer[] = [];
  #nextRoundMs = 0;
  #stopped = true;

  constructor(dependencies: PeerManagerDependencies, options: PeerManagerOptions) {
    const { transport, store, clock, random, observer } = dependencies;
    this.#transport = transport;
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.#observer = observer;
    this.#options = options;
    this.#intervals = { ...INTERVALS, ...options.intervals };
    this.#plan = new DialPlan(clock, random);
    const usable = (peers: readonly PeerAddress[]): Map<PeerId, PeerAddress> =>
      new Map(
        peers
          .filter((peer) => !this.#isOwn(peer) && !options.blacklistedIps.includes(peer.ip))
          .map((peer) => [peerIdOf(peer), peer]),
      );
    this.#fixed = usable(options.fixedPeers);
    this.#seeds = usable(options.seedPeers.filter((peer) => !this.#fixed.has(peerIdOf(peer))));
    this.#pinned = new Set([...this.#fixed.keys(), ...usable(options.whitelistedPeers).keys()]);
    this.#book = new PeerBook({
      random,
      nowMs: () => clock.nowMs(),
      isPinned: (peerId) => this.#pinned.has(peerId),
    });
  }

  /** Opens the transport and begins to connect. @throws ProtocolError `PORT_IN_USE` */
  async start(handlers: PeerHandlers): Promise<void> {
    assert(this.#stopped, 'peers start once');
    this.#loadBook();
    await this.#transport.start({
      answer: handlers.answer,
      message: handlers.message,
      peerList: () => this.#listed(),
      admits: (ip) => this.#admits(ip),
      evict: (inbound) => this.#evict(inbound),
      fault: (peerId, fault, detail) => {
        this.#charge(peerId, fault, detail);
      },
      connected: (connection) => {
        this.#connected(connection);
        handlers.connected?.(connection);
      },
      disconnected: (peerId, direction, reason) => {
        this.#disconnected(peerId, direction, reason);
        handlers.disconnected?.(peerId, reason);
      },
      updated: (peerId, info) => {
        this.#book.update(info);
        handlers.updated?.(peerId, info);
      },
    });
    this.#stopped = false;
    this.#nextRoundMs = this.#clock.nowMs();
    this.#tend();
    this.#askSeeds();
    this.#every('shuffle', this.#intervals.shuffleMs, () => {
      this.#shuffleOne();
    });
  }

  /** Saves the book and closes every connection. */
  async stop(): Promise<void> {
    const wasRunning = !this.#stopped;
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    if (wasRunning) this.snapshot();
    await this.#transport.close();
  }

  // ---- what others ask -------------------------------------------------------------------------------------------------

  connectedPeers(): readonly Connection[] {
    return this.#transport.connections();
  }

  /** Every peer worth naming: connected ones first, then those of the book. */
  knownPeers(): readonly { readonly info: PeerInfo; readonly state: 'connected' | 'disconnected' }[] {
    const connections = this.#transport.connections();
    const connected = new Set(connections.map((connection) => connection.peerId));
    const others = this.#book.peers().filter((peer) => !connected.has(peerIdOf(peer.info)));
    return [
      ...connections.map(({ info }) => ({ info, state: 'connected' as const })),
      ...others.map(({ info }) => ({ info, state: 'disconnected' as const })),
    ];
  }

  /** Peers for a message that not everybody gets: a random choice over both directions. */
  gossipTargets(): readonly PeerId[] {
    return selectToTell(this.#transport.connections(), this.#options.gossipPeersMax, this.#random);
  }

  /** Connections that ended lately, oldest first. */
  droppedPeers(): readonly DroppedPeer[] {
    return this.#dropped;
  }

  bans(): readonly Ban[] {
    return this.#book.bans();
  }

  /**
   * Charges a peer for what the chain found wrong with its message. Fixed, seed and whitelisted peers are not charged.
   *
   * @param code any rejection code; those that are no offence cost nothing
   */
  penalise(peerId: PeerId, code: string, detail: string): void {
    if (!this.#pinned.has(peerId) && !this.#seeds.has(peerId)) this.#charge(peerId, code, detail);
  }

  /** Disconnects every peer at an IP and refuses it for a time. */
  ban(ip: string, reason: string, durationMs = BAN_MS): void {
    this.#book.ban(ip, this.#clock.nowMs() + durationMs, reason);
    this.#observer.count('peers_banned_total');
    this.#observer.log('warn', 'PEER_BANNED', 'An address is banned', { ip, reason, durationMs });
    for (const { peerId } of this.#transport.connections()) {
      if (ipOf(peerId) === ip) this.#transport.disconnect(peerId, FORBIDDEN);
    }
  }

  unban(ip: string): void {
    this.#book.unban(ip);
  }

  expireBans(): void {
    this.#book.expireBans();
  }

  /** Saves the book. */
  snapshot(): void {
    const note = this.#book.toNote();
    this.#store.transact((writer) => {
      writer.setNote(NOTE, note);
    });
  }

  // ---- dialling --------------------------------------------------------------------------------------------------------

  /** Dials whoever is due and sleeps until the next one is. */
  #tend(): void {
    if (this.#stopped) return;
    const nowMs = this.#clock.nowMs();
    for (const [peerId, address] of this.#fixed) {
      if (this.#isMissing(peerId) && this.#plan.isDue(peerId)) this.#dial(address);
    }
    if (nowMs >= this.#nextRoundMs) {
      this.#nextRoundMs = nowMs + this.#intervals.populateMs;
      for (const address of this.#chosen()) this.#dial(address);
    }
    this.#arm();
  }

  /** Sleeps until the next round, or until a missing fixed peer may be dialled again. */
  #arm(): void {
    if (this.#stopped) return;
    let dueMs = this.#nextRoundMs;
    for (const peerId of this.#fixed.keys()) {
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

  /** Outbound connections that could still be opened, with one kept for each missing fixed peer. */
  #free(): number {
    const open = this.#transport.connections().filter((connection) => connection.direction === 'outbound').length;
    const missing = [...this.#fixed.keys()].filter((peerId) => !this.#isConnected(peerId)).length;
    const dialling = this.#plan.dialling().filter((peerId) => !this.#fixed.has(peerId)).length;
    return this.#options.outboundMax - open - missing - dialling;
  }

  #chosen(): PeerAddress[] {
    const taken = new Set(
      this.#transport
        .connections()
        .filter((connection) => connection.direction === 'outbound')
        .map((connection) => connection.info.ip),
    );
    const candidates = this.#book.peers().filter(({ info }) => {
      const peerId = peerIdOf(info);
      if (!this.#isMissing(peerId) || !this.#plan.isDue(peerId) || this.#fixed.has(peerId)) return false;
      return this.#admits(info.ip) && !this.#isOwn(info) && (isLoopback(info.ip) || !taken.has(info.ip));
    });
    const ofList = (list: 'new' | 'tried'): PeerInfo[] =>
      candidates.filter((peer) => peer.list === list).map((peer) => peer.info);
    const chosen = selectToDial(ofList('new'), ofList('tried'), this.#free(), this.#random);
    return onePerIp(chosen);
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
    const outcome = this.#plan.failed(peerId, typeof code === 'number' ? code : 1006, this.#fixed.has(peerId));
    if (outcome === 'unreachable') this.#book.fail(peerId);
    if (outcome === 'hopeless' && !this.#pinned.has(peerId)) this.#book.remove(peerId);
    this.#observer.log('debug', 'PEER_DIAL_FAILED', 'A peer could not be dialled', { peer: peerId, code, reason });
  }

  /** Seeds are asked for others as long as there is room for these. */
  #askSeeds(): void {
    const free = this.#free();
    const connected = [...this.#seeds.keys()].filter((peerId) => this.#isConnected(peerId));
    if (free <= 0) {
      const reason = { code: 1000, reason: 'Disconnect from SeedPeer after discovery' };
      for (const peerId of connected) this.#transport.disconnect(peerId, reason);
    } else {
      for (const peerId of connected) void this.#discover(peerId);
      const due = [...this.#seeds].filter(([peerId]) => this.#isMissing(peerId) && this.#plan.isDue(peerId));
      const isNeeded = this.#book.peers('tried').length < TRIED_ENOUGH;
      if (isNeeded) for (const [, address] of shuffled(due, this.#random).slice(0, free)) this.#dial(address);
    }
    if (!this.#stopped) {
      this.#timers.set(
        'seeds',
        this.#clock.after(this.#intervals.seedMs, () => {
          this.#askSeeds();
        }),
      );
    }
  }

  async #discover(peerId: PeerId): Promise<void> {
    try {
      const peers = await this.#transport.request(peerId, { kind: 'peers' });
      for (const peer of peers) {
        if (!this.#isOwn(peer) && this.#admits(peer.ip)) this.#book.add(peer, ipOf(peerId));
      }
      // The first peers that a fresh node hears of should not wait for the next round.
      if (peers.length > 0 && this.#transport.connections().length <= this.#fixed.size + this.#seeds.size) {
        this.#nextRoundMs = Math.min(this.#nextRoundMs, this.#clock.nowMs() + 1_000);
        this.#arm();
      }
    } catch (error) {
      const fields = { peer: peerId, reason: messageOf(error) };
      this.#observer.log('debug', 'PEER_DISCOVERY_FAILED', 'A peer gave no list of peers', fields);
    }
  }

  /** Exchanges one outbound peer, so that no fixed set of peers can surround the node. */
  #shuffleOne(): void {
    // With a connection to spare there is nothing to exchange it for.
    if (this.#free() > 0) return;
    const outbound = this.#transport
      .connections()
      .filter(({ direction, peerId }) => direction === 'outbound' && !this.#fixed.has(peerId));
    const chosen = outbound[this.#random.below(Math.max(1, outbound.length))];
    if (chosen === undefined) return;
    this.#transport.disconnect(chosen.peerId, { code: 4418, reason: `Evicted outbound peer ${chosen.peerId}` });
  }

  // ---- what the transport reports ----------------------------------------------------------------------------------------

  #connected({ peerId, direction, info }: Connection): void {
    // Offences during a dial may have led to a ban before there was a connection to close.
    if (!this.#admits(info.ip)) {
      this.#transport.disconnect(peerId, FORBIDDEN);
      return;
    }
    this.#observer.log('info', 'PEER_CONNECTED', 'A peer is connected', {
      peer: peerId,
      direction,
      height: info.height,
    });
    this.#observer.gauge('peers_connected', this.#transport.connections().length);
    if (direction === 'outbound') {
      if (!this.#seeds.has(peerId)) this.#book.promote(info);
      void this.#discover(peerId);
    } else this.#book.add(info);
  }

  #disconnected(peerId: PeerId, direction: 'inbound' | 'outbound', { code, reason }: CloseReason): void {
    this.#dropped.push({ peerId, direction, code, reason, atMs: this.#clock.nowMs() });
    if (this.#dropped.length > DROPPED_MAX) this.#dropped = this.#dropped.slice(-DROPPED_MAX);
    this.#observer.log('info', 'PEER_DISCONNECTED', 'A peer is gone', { peer: peerId, direction, code, reason });
    this.#observer.gauge('peers_connected', this.#transport.connections().length);
    this.#plan.lost(peerId, code, this.#fixed.has(peerId));
    this.#arm();
  }

  #admits(ip: string): boolean {
    return !this.#options.blacklistedIps.includes(ip) && !this.#book.isBanned(ip);
  }

  #evict(inbound: readonly Connection[]): PeerId | undefined {
    const candidates = inbound.filter(({ peerId }) => !this.#pinned.has(peerId));
    return selectToEvict(candidates, (ip) => this.#book.netgroupOf(ip), this.#random);
  }

  #listed(): readonly PeerInfo[] {
    const infos = this.#book.peers().map((peer) => peer.info);
    return selectToList(
      infos.filter((info) => info.advertiseAddress !== false),
      this.#random,
    );
  }

  #charge(peerId: PeerId, code: string, detail: string): void {
    const points = pointsOf(code);
    if (points === 0) return;
    const reputation = (this.#reputations.get(peerId) ?? REPUTATION_FULL) - points;
    this.#reputations.set(peerId, reputation);
    const fields = { peer: peerId, offence: code, detail, reputation };
    this.#observer.log('debug', 'PEER_PENALISED', 'A peer broke a rule', fields);
    if (reputation > 0) return;
    this.#reputations.delete(peerId);
    const reason = `${code}: ${detail}`;
    const ip = ipOf(peerId);
    // An address with peers that the operator named is not shut out for the offence of one: its connection ends.
    if ([...this.#pinned, ...this.#seeds.keys()].some((named) => ipOf(named) === ip)) {
      this.#observer.log('warn', 'PEER_EXPELLED', 'A peer at a trusted address is disconnected', fields);
      this.#transport.disconnect(peerId, FORBIDDEN);
    } else this.ban(ip, reason);
  }

  // ---- small questions -------------------------------------------------------------------------------------------------

  #isConnected(peerId: PeerId): boolean {
    return this.#transport.connections().some((connection) => connection.peerId === peerId);
  }

  #isMissing(peerId: PeerId): boolean {
    return !this.#plan.isDialling(peerId) && !this.#isConnected(peerId);
  }

  #isOwn(address: PeerAddress): boolean {
    const { ip, wsPort } = this.#options.own;
    if (this.#plan.isOwn(peerIdOf(address))) return true;
    const isHere = address.ip === ip || address.ip === '0.0.0.0' || (isLoopback(address.ip) && ip === '0.0.0.0');
    return isHere && address.wsPort === wsPort;
  }

  #loadBook(): void {
    const note = this.#store.note(NOTE);
    if (note !== undefined && !this.#book.load(note)) {
      this.#observer.log('warn', 'PEER_BOOK_UNREADABLE', 'The saved peer book cannot be read; starting an empty one');
    }
    const named = [...this.#fixed.values(), ...this.#options.whitelistedPeers.filter((peer) => !this.#isOwn(peer))];
    for (const address of named) {
      this.#book.unban(address.ip);
      if (this.#book.get(peerIdOf(address)) === undefined) this.#book.promote(address);
    }
  }

  #every(name: string, intervalMs: number, work: () => void): void {
    this.#timers.set(
      name,
      this.#clock.after(intervalMs, () => {
        work();
        if (!this.#stopped) this.#every(name, intervalMs, work);
      }),
    );
  }
}

/** Of several peers at one IP the highest, except on the own machine. */
function onePerIp(peers: readonly PeerInfo[]): PeerInfo[] {
  const best = new Map<string, PeerInfo>();
  for (const peer of peers) {
    const key = isLoopback(peer.ip) ? peerIdOf(peer) : peer.ip;
    const rival = best.get(key);
    if (rival === undefined || (peer.height ?? 0) > (rival.height ?? 0)) best.set(key, peer);
  }
  return [...best.values()];
}
