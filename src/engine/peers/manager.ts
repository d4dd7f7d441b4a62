/**
 * Manages peers over the transport: known addresses, connections, penalties. Times are those of the given clock. Between runs,
 * the store keeps the peer book as a note.
 */

import { Closers } from '../closers.ts';
import { FairAnswerQueue } from '../fair-answer-queue.ts';
import { LruMap } from '../../primitives/bounded.ts';
import { assert } from '../../primitives/errors.ts';
import { WorkShare } from '../../primitives/work-share.ts';
import type { Clock, Random } from '../../ports/clock.ts';
import type { PeerVerdict } from '../../ports/node-api.ts';
import type { Observer } from '../../ports/observer.ts';
import type { NoteStore } from '../../ports/store.ts';
import {
  peerIdOf,
  type ChainQuestion,
  type CloseReason,
  type Connection,
  type PeerAddress,
  type PeerId,
  type PeerInfo,
  type Transport,
  type TransportHandlers,
} from '../../ports/transport.ts';
import { ipOf, isSpecial } from './addresses.ts';
import { type Ban, PeerBook } from './book.ts';
import { PeerScoring, FORBIDDEN } from './peer-scoring.ts';
import { Dialler, type PeerIntervals } from './dialler.ts';
import { NamedPeers, type NamedPeersOptions } from './named-peers.ts';
import { SavedBook } from './saved-book.ts';
import { selectToEvict, selectToList, selectToTell } from './selection.ts';
import { type DroppedPeer, verdictsOf } from './verdicts.ts';

export interface PeerManagerOptions extends NamedPeersOptions {
  /** Connections that this node opens, fixed peers included. */
  readonly outboundMax: number;
  /** Number of peers that get one message, where not all peers get it. */
  readonly gossipPeersMax: number;
  readonly intervals?: Partial<PeerIntervals>;
}

export interface PeerManagerDependencies {
  readonly transport: Transport;
  readonly store: NoteStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  /** Share of the main thread for the questions of peers; a share of their own by default. */
  readonly workShare?: WorkShare | undefined;
}

/** The handlers of the rest of the engine for messages and changes of peers. */
export interface PeerHandlers {
  answer(peerId: PeerId, question: ChainQuestion): Promise<unknown>;
  readonly message: TransportHandlers['message'];
  connected?(connection: Connection): void;
  disconnected?(peerId: PeerId, reason: CloseReason): void;
  updated?(peerId: PeerId, info: PeerInfo): void;
}

const INTERVALS: PeerIntervals = { populateMs: 10_000, seedMs: 30_000, shuffleMs: 300_000 };
const DROPPED_MAX = 200;

export class PeerManager {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #observer: Observer;
  readonly #workShare: WorkShare;
  readonly #options: PeerManagerOptions;
  readonly #named: NamedPeers;
  readonly #book: PeerBook;
  readonly #savedBook: SavedBook;
  readonly #dialler: Dialler;
  readonly #scoring: PeerScoring;
  #dropped: DroppedPeer[] = [];
  /** Why the latest dial of an address failed. */
  readonly #unreached = new LruMap<PeerId, CloseReason>(DROPPED_MAX);
  #stopped = true;

  constructor(dependencies: PeerManagerDependencies, options: PeerManagerOptions) {
    const { transport, store, clock, random, observer } = dependencies;
    this.#transport = transport;
    this.#clock = clock;
    this.#random = random;
    this.#observer = observer;
    this.#workShare = dependencies.workShare ?? new WorkShare({ clock });
    this.#options = options;
    this.#named = new NamedPeers(options);
    const { fixed, seeds, pinned } = this.#named;
    this.#book = new PeerBook({
      random,
      nowMs: () => clock.nowMs(),
      isPinned: (peerId) => pinned.has(peerId),
    });
    this.#savedBook = new SavedBook({ store, book: this.#book, clock, observer });
    this.#scoring = new PeerScoring({
      transport,
      book: this.#book,
      clock,
      observer,
      named: () => this.#named.all(),
      banned: () => {
        this.#savedBook.saveSoon();
      },
    });
    this.#dialler = new Dialler(
      { transport, book: this.#book, clock, random, observer },
      {
        own: options.own,
        outboundMax: options.outboundMax,
        fixed,
        seeds,
        pinned,
        intervals: { ...INTERVALS, ...options.intervals },
        admits: (ip) => this.#admits(ip),
        dialFailed: (peerId, reason, isFinal) => {
          if (isFinal) this.#drop(peerId, 'outbound', reason);
          else this.#unreached.set(peerId, reason);
        },
      },
    );
  }

  /** Opens the transport and begins to connect. @throws ProtocolError `PORT_IN_USE` */
  async start(handlers: PeerHandlers): Promise<void> {
    assert(this.#stopped, 'peers start once');
    this.#loadBook();
    const answers = new FairAnswerQueue(
      (peerId, request) => {
        if (request.kind === 'peers') return Promise.resolve(this.#listed());
        return handlers.answer(peerId, request);
      },
      { share: this.#workShare, isNamed: (peerId) => this.isNamed(peerId) },
    );
    await this.#transport.start({
      answer: (peerId, request) => answers.answer(peerId, request),
      message: handlers.message,
      admits: (ip) => this.#admits(ip),
      isNamed: (ip) => this.#named.all().some((peerId) => ipOf(peerId) === ip),
      evict: (inbound) => this.#evict(inbound),
      fault: (peerId, fault, detail) => {
        this.#scoring.report(peerId, fault, detail);
      },
      connected: (connection) => {
        this.#connected(connection);
        handlers.connected?.(connection);
      },
      disconnected: (peerId, direction, reason) => {
        answers.leave(peerId);
        this.#disconnected(peerId, direction, reason);
        handlers.disconnected?.(peerId, reason);
      },
      updated: (peerId, info) => {
        this.#book.update(info);
        handlers.updated?.(peerId, info);
      },
    });
    this.#stopped = false;
    this.#dialler.start();
  }

  /**
   * Saves the book and closes every connection.
   *
   * @throws AggregateError when the book cannot be saved or a connection not be closed; the other is done all the same
   */
  async stop(): Promise<void> {
    const wasRunning = !this.#stopped;
    this.#stopped = true;
    this.#dialler.stop();
    this.#savedBook.cancel();
    const closers = new Closers();
    closers.add(() => this.#transport.close());
    if (wasRunning) closers.add(() => this.snapshot());
    await closers.close();
  }

  /** Adds a seed whose address has only now become known, and dials it when others are needed. */
  addSeed(seed: PeerAddress): void {
    if (this.#named.addSeed(seed)) this.#dialler.dialSeeds([[peerIdOf(seed), seed]]);
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

  /** What is thought of each address but this node's own, connected ones first. */
  verdicts(): readonly PeerVerdict[] {
    const all = verdictsOf({
      connections: this.#transport.connections(),
      known: this.#book.peers(),
      named: this.#named.all(),
      bans: this.#book.bans(),
      dropped: this.#dropped,
      nowMs: this.#clock.nowMs(),
      rolesOf: (peerId) => this.#named.rolesOf(peerId),
      reputationOf: (peerId) => this.#scoring.reputationOf(peerId),
      isDialling: (peerId) => this.#dialler.isDialling(peerId),
      dialDueMs: (peerId) => this.#dialler.dueMs(peerId),
      dialFailureOf: (peerId) => this.#unreached.get(peerId),
    });
    return all.filter(
      ({ ip, wsPort, verdict }) =>
        verdict === 'connected' || wsPort === undefined || !this.#dialler.isOwn({ ip, wsPort }),
    );
  }

  /** Peers for a message that not everybody gets: a random choice over both directions. */
  gossipTargets(): readonly PeerId[] {
    return selectToTell(this.#transport.connections(), this.#options.gossipPeersMax, this.#random);
  }

  /** Whether the operator named this peer: as a fixed, a seed or a whitelisted one. */
  isNamed(peerId: PeerId): boolean {
    return this.#named.includes(peerId);
  }

  /** A number that the peers of one netgroup share. */
  netgroupOf(peerId: PeerId): number {
    return this.#book.netgroupOf(ipOf(peerId));
  }

  /** Peers that are always dialled. */
  fixedPeers(): readonly PeerId[] {
    return [...this.#named.fixed.keys()];
  }

  /** Connections that ended lately, oldest first. */
  droppedPeers(): readonly DroppedPeer[] {
    return this.#dropped;
  }

  bans(): readonly Ban[] {
    return this.#book.bans();
  }

  /**
   * Charges a peer for a fault that the engine found in its message. Fixed, seed and whitelisted peers are not charged.
   *
   * @param code any rejection code; a code that is no offence costs no points
   */
  penalise(peerId: PeerId, code: string, detail: string): void {
    this.#scoring.penalise(peerId, code, detail);
  }

  /** Disconnects a peer whose signatures took its whole budget for nothing. Named peers stay. */
  cutWasteful(peerId: PeerId): void {
    this.#scoring.cutWasteful(peerId);
  }

  /** Disconnects every peer at an IP and refuses it for a time, a day unless told. */
  ban(ip: string, reason: string, durationMs?: number): void {
    this.#scoring.ban(ip, reason, durationMs);
  }

  unban(ip: string): void {
    this.#book.unban(ip);
  }

  expireBans(): void {
    this.#book.expireBans();
  }

  /** Saves the book. */
  snapshot(): void {
    this.#savedBook.save();
  }

  // ---- what the transport reports ----------------------------------------------------------------------------------------

  #connected(connection: Connection): void {
    const { peerId, direction, info } = connection;
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
      if (!this.#named.seeds.has(peerId)) this.#book.promote(info);
      this.#dialler.connected(connection);
    } else if (this.#mayTell(info)) this.#book.add(info);
  }

  #disconnected(peerId: PeerId, direction: 'inbound' | 'outbound', close: CloseReason): void {
    const { code, reason } = close;
    this.#drop(peerId, direction, close);
    this.#observer.log('info', 'PEER_DISCONNECTED', 'A peer is gone', { peer: peerId, direction, code, reason });
    this.#observer.gauge('peers_connected', this.#transport.connections().length);
    this.#dialler.disconnected(peerId, close);
  }

  #drop(peerId: PeerId, direction: 'inbound' | 'outbound', { code, reason }: CloseReason): void {
    this.#dropped.push({ peerId, direction, code, reason, atMs: this.#clock.nowMs() });
    if (this.#dropped.length > DROPPED_MAX) this.#dropped = this.#dropped.slice(-DROPPED_MAX);
  }

  #admits(ip: string): boolean {
    return !this.#named.isBlacklisted(ip) && !this.#book.isBanned(ip);
  }

  /** Whether others may hear of an address: not where it means another machine, or none, to each of them. */
  #mayTell(info: PeerAddress): boolean {
    return !isSpecial(info.ip) || this.isNamed(peerIdOf(info));
  }

  #evict(inbound: readonly Connection[]): PeerId | undefined {
    const candidates = inbound.filter(({ peerId }) => !this.#named.pinned.has(peerId));
    return selectToEvict(candidates, (ip) => this.#book.netgroupOf(ip), this.#random);
  }

  #listed(): readonly PeerInfo[] {
    const infos = this.#book.peers().map((peer) => peer.info);
    return selectToList(
      infos.filter(
        (info) =>
          info.advertiseAddress !== false && this.#admits(info.ip) && !this.#dialler.isOwn(info) && this.#mayTell(info),
      ),
      this.#random,
    );
  }

  #loadBook(): void {
    this.#savedBook.load();
    const named = [
      ...this.#named.fixed.values(),
      ...this.#options.whitelistedPeers.filter((peer) => !this.#dialler.isOwn(peer)),
    ];
    for (const address of named) {
      this.#book.unban(address.ip);
      if (this.#book.get(peerIdOf(address)) === undefined) this.#book.promote(address);
    }
  }
}
