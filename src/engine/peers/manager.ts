/**
 * Manages peers: their addresses, connections and penalties. Answers requests for a list of peers, and passes the other
 * requests and the messages of peers to the engine. Saves the peer book in the store, so that the next run of the node
 * can load the book.
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
  type ChainRequest,
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
import { selectToEvict, selectToList, selectForGossip } from './selection.ts';
import { type DroppedPeer, verdictsOf } from './verdicts.ts';

export interface PeerManagerOptions extends NamedPeersOptions {
  /**
   * Maximum number of outbound connections (connections that this node opened) at the same time. The number includes
   * the connections to fixed peers. The node dials all fixed peers, even if there are more fixed peers than this
   * maximum.
   */
  readonly outboundMax: number;
  /**
   * Maximum number of peers for a message that the node sends to random peers instead of all peers.
   */
  readonly gossipPeersMax: number;
  readonly intervals?: Partial<PeerIntervals>;
}

export interface PeerManagerDependencies {
  readonly transport: Transport;
  readonly store: NoteStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  /**
   * The budget of main-thread time for answers to peers. If the caller also uses this budget for other work, the
   * answers and the other work share the budget. By default, the manager creates a budget that only the answers to
   * peers use.
   */
  readonly workShare?: WorkShare | undefined;
}

/** Functions of the engine that handle the requests and messages of peers, and changes of connections. */
export interface PeerHandlers {
  answer(peerId: PeerId, request: ChainRequest): Promise<unknown>;
  readonly message: TransportHandlers['message'];
  connected?(connection: Connection): void;
  disconnected?(peerId: PeerId, reason: CloseReason): void;
  updated?(peerId: PeerId, info: PeerInfo): void;
}

const INTERVALS: PeerIntervals = { populateMs: 10_000, seedMs: 30_000, shuffleMs: 300_000 };
/** Maximum number of entries in `#dropped`, and of addresses in `#unreached`. */
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
  /**
   * For each address, the close code and reason of the latest dial with the outcome `unreachable` (`DialOutcome`). A
   * later successful dial does not remove the entry. `verdictsOf` reads the entry only while the node waits before it
   * dials the address again.
   */
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

  /**
   * Opens the transport, and begins to dial peers.
   *
   * @throws ProtocolError `PORT_IN_USE` if the port is in use; `LISTEN_FAILED` if another error prevents the transport
   *   from listening
   */
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
      offence: (peerId, offence, detail) => {
        this.#scoring.report(peerId, offence, detail);
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
   * Closes all connections. If the manager was started, the method saves the peer book before it closes the
   * connections. The method closes the connections even if it cannot save the book.
   *
   * @throws AggregateError if the book cannot be saved or a connection cannot be closed
   */
  async stop(): Promise<void> {
    const wasRunning = !this.#stopped;
    this.#stopped = true;
    this.#dialler.stop();
    this.#savedBook.cancel();
    const closers = new Closers();
    closers.add(() => this.#transport.close());
    if (wasRunning) closers.add(() => this.savePeerBook());
    await closers.close();
  }

  /**
   * Adds a seed whose IP address `SeedSearch` (`node/seeds.ts`) has found. Dials the seed under the conditions of
   * `Dialler.dialSeeds`.
   */
  addSeed(seed: PeerAddress): void {
    if (this.#named.addSeed(seed)) this.#dialler.dialSeeds([[peerIdOf(seed), seed]]);
  }

  // ---- queries ------------------------------------------------------------------------------------------------------

  connectedPeers(): readonly Connection[] {
    return this.#transport.connections();
  }

  /** Returns all known peers: first the connected peers, then the other peers of the book. */
  knownPeers(): readonly { readonly info: PeerInfo; readonly state: 'connected' | 'disconnected' }[] {
    const connections = this.#transport.connections();
    const connected = new Set(connections.map((connection) => connection.peerId));
    const others = this.#book.peers().filter((peer) => !connected.has(peerIdOf(peer.info)));
    return [
      ...connections.map(({ info }) => ({ info, state: 'connected' as const })),
      ...others.map(({ info }) => ({ info, state: 'disconnected' as const })),
    ];
  }

  /**
   * Returns the verdict on each known address: whether the peer is connected, and the reason if the peer is not
   * connected. Leaves out this node's own addresses. Connected peers come first.
   */
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

  /** Chooses random inbound and outbound peers for a message that does not go to all peers. */
  gossipTargets(): readonly PeerId[] {
    return selectForGossip(this.#transport.connections(), this.#options.gossipPeersMax, this.#random);
  }

  /** Returns true if the operator named this peer as a fixed peer, a seed or a whitelisted peer. */
  isNamed(peerId: PeerId): boolean {
    return this.#named.includes(peerId);
  }

  /** Returns the number of the peer's netgroup. All peers of one netgroup have the same number. */
  netgroupOf(peerId: PeerId): number {
    return this.#book.netgroupOf(ipOf(peerId));
  }

  /** The fixed peers, to which this node always tries to connect. */
  fixedPeers(): readonly PeerId[] {
    return [...this.#named.fixed.keys()];
  }

  /**
   * Connections that ended, and dials that failed for a reason that does not change while both nodes run (for example,
   * because the peer is on another network), oldest first. The list has at most `DROPPED_MAX` entries. If the list is
   * full, each new entry replaces the oldest entry.
   */
  droppedPeers(): readonly DroppedPeer[] {
    return this.#dropped;
  }

  bans(): readonly Ban[] {
    return this.#book.bans();
  }

  /**
   * Gives a peer the penalty for an offence that the engine found in a message or an answer of the peer. Named peers
   * lose no points for such an offence. This method is not for a `PeerOffence` that the engine throws while the engine
   * answers a request. The transport reports a `PeerOffence` to `PeerScoring.report`.
   *
   * @param code any rejection code; a code that is not an offence costs no points
   */
  penalise(peerId: PeerId, code: string, detail: string): void {
    this.#scoring.penalise(peerId, code, detail);
  }

  /**
   * Disconnects a peer that sent too many useless signatures (see `PeerScoring.cutWasteful`). Named peers stay
   * connected. The caller must have found that `VerificationBudget.isWasteful` is true for the address of the peer.
   */
  cutWasteful(peerId: PeerId): void {
    this.#scoring.cutWasteful(peerId);
  }

  /**
   * Disconnects every peer at an IP address, and refuses connections from the address until the ban ends.
   *
   * @param durationMs duration of the ban in milliseconds; a day by default
   */
  ban(ip: string, reason: string, durationMs?: number): void {
    this.#scoring.ban(ip, reason, durationMs);
  }

  unban(ip: string): void {
    this.#book.unban(ip);
  }

  expireBans(): void {
    this.#book.expireBans();
  }

  /** @throws ProtocolError if the write to the store fails */
  savePeerBook(): void {
    this.#savedBook.save();
  }

  // ---- events of the transport --------------------------------------------------------------------------------------

  #connected(connection: Connection): void {
    const { peerId, direction, info } = connection;
    // It is possible that the node banned the address because of an offence during the handshake. The node could not
    // close the connection at that time, because the connection was not open yet. The node therefore closes the
    // connection here.
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
    } else if (this.#mayShare(info)) this.#book.add(info);
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

  /**
   * Returns true if this node is allowed to send an address to other peers. An address of the scope `special`, such as
   * a link-local address, can lead each peer to a different machine, or to no machine. The node therefore sends such an
   * address only if the operator named the peer at this address.
   */
  #mayShare(info: PeerAddress): boolean {
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
          info.advertiseAddress !== false &&
          this.#admits(info.ip) &&
          !this.#dialler.isOwn(info) &&
          this.#mayShare(info),
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
