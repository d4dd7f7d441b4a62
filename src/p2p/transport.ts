/**
 * Implements `Transport` over WebSockets. The transport keeps a map from the id of each connected peer to the
 * connection with this peer. The map contains at most one connection for each peer, either inbound or outbound.
 */

import { assert, messageOf, ProtocolError } from '../primitives/errors.ts';
import type { Clock, Random } from '../ports/clock.ts';
import { type Observer, SILENT } from '../ports/observer.ts';
import { REQUEST_TIMEOUT_MS } from '../ports/rates.ts';
import {
  peerIdOf,
  type AnswerTo,
  type CloseReason,
  type Connection,
  type NodeInfo,
  type PeerAddress,
  type PeerId,
  type PeerInfo,
  type PeerMessage,
  type PeerRequest,
  type Transport,
  type TransportHandlers,
} from '../ports/transport.ts';
import { dial } from './client.ts';
import { type ConnectionContext, PeerConnection } from './connection.ts';
import { codeLabel } from './close-codes.ts';
import { CLOSE, type WireDialect } from './dialect.ts';
import type { Link } from './link.ts';
import { listen, type Listener } from './server.ts';
import { SharedUnsolicitedBytesBudget } from './unsolicited-bytes.ts';

export interface TransportOptions {
  readonly dialect: WireDialect;
  /** IPv4 address on which the node listens for peers. */
  readonly host: string;
  /**
   * Port on which the node listens for peers. If the value is 0, the operating system chooses a free port, and the node
   * announces this port to its peers.
   */
  readonly wsPort: number;
  /** The info of this node. If `info` is absent, the caller must call `announce` before `start`. */
  readonly info?: NodeInfo;
  /** Maximum number of inbound connections at a time. Connections with an unfinished handshake do not count. */
  readonly inboundMax: number;
  /** Maximum number of new connections from one address in ten seconds. The default is 100. */
  readonly arrivalsPerIpMax?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer?: Observer;
  readonly timeouts?: Partial<TransportTimeouts>;
}

interface TransportTimeouts {
  /**
   * Time limit for opening the WebSocket of an outbound connection. After the WebSocket has opened, the protocol
   * handshake has a separate time limit of the same length. The default is 2,000 ms, as in lisk-sdk.
   */
  readonly dialMs: number;
  /** Time after which a call to a peer fails if the peer has not answered. The default is 10,000 ms. */
  readonly requestMs: number;
  /**
   * Time limit for each of the two handshakes of an inbound connection. The request for the WebSocket must arrive
   * within this time after the TCP connection opened. The handshake of the protocol must arrive within the same time
   * after the WebSocket opened. The default is 10,000 ms, as in lisk-sdk.
   */
  readonly handshakeMs: number;
  /**
   * If no message arrives on an inbound connection for this time, the node closes the connection. The answer to a
   * heartbeat also counts as a message. The default is 20,000 ms, as in lisk-sdk.
   */
  readonly pongMs: number;
  /**
   * Maximum time for which `close` waits until the peers have closed their connections. The default is 500 ms.
   */
  readonly leaveMs: number;
}

/** A `Transport` with a listening port. */
export interface ListeningTransport extends Transport {
  /** The port on which the transport listens. Until `start` has opened a port, the value is the configured port. */
  readonly wsPort: number;
}

const TIMEOUTS: TransportTimeouts = {
  dialMs: 2_000,
  requestMs: REQUEST_TIMEOUT_MS,
  handshakeMs: 10_000,
  pongMs: 20_000,
  leaveMs: 500,
};
/** Maximum number of inbound connections that have not finished their handshake. */
const HANDSHAKES_PENDING_MAX = 64;
/**
 * Default maximum number of new connections from one address in ten seconds. Even if all nodes of a devnet share one
 * address and start at the same time, they open fewer connections to this node than this maximum. Repeated dials add
 * few connections, because a peer that was refused or dropped waits for seconds before it dials again.
 */
const ARRIVALS_PER_IP_MAX = 100;
/**
 * The maximum number of inbound TCP connections is the sum of this number, the maximum number of inbound peers, and the
 * maximum number of unfinished handshakes. The node allows the additional connections because a connection that this
 * node has begun to close stays open for some time.
 */
const SOCKETS_LEAVING_MAX = 448;
const LEAVING: CloseReason = { code: 1000, reason: 'Node is shutting down' };

export function createTransport(options: TransportOptions): ListeningTransport {
  return new SocketTransport(options);
}

class SocketTransport implements ListeningTransport {
  readonly #options: TransportOptions;
  readonly #timeouts: TransportTimeouts;
  readonly #observer: Observer;
  readonly #peers = new Map<PeerId, PeerConnection>();
  readonly #dials = new Set<PeerId>();
  /** Links of all dialled and accepted connections whose WebSocket is not closed yet. */
  readonly #links = new Set<Link>();
  readonly #owners = new WeakMap<Link, PeerConnection>();
  readonly #shared = new SharedUnsolicitedBytesBudget();
  #info: NodeInfo | undefined;
  #packedInfo: object = {};
  #context: ConnectionContext | undefined;
  #listener: Listener | undefined;
  #closed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    this.#observer = (options.observer ?? SILENT).module('p2p');
    if (options.info !== undefined) this.announce(options.info);
  }

  get wsPort(): number {
    return this.#listener?.wsPort ?? this.#options.wsPort;
  }

  async start(handlers: TransportHandlers): Promise<void> {
    assert(this.#context === undefined, 'a transport starts once');
    const info = this.#info;
    assert(info !== undefined, 'the info of the node is set before the transport starts');
    const { dialect, clock, random } = this.#options;
    this.#context = {
      dialect,
      handlers,
      clock,
      random,
      observer: this.#observer,
      requestTimeoutMs: this.#timeouts.requestMs,
      ownInfo: () => this.#packedInfo,
    };
    this.#listener = await listen({
      host: this.#options.host,
      wsPort: this.#options.wsPort,
      dialect,
      clock,
      handshakeTimeoutMs: this.#timeouts.handshakeMs,
      pongTimeoutMs: this.#timeouts.pongMs,
      handshakesPendingMax: HANDSHAKES_PENDING_MAX,
      arrivalsPerIpMax: this.#options.arrivalsPerIpMax ?? ARRIVALS_PER_IP_MAX,
      socketsMax: this.#options.inboundMax + HANDSHAKES_PENDING_MAX + SOCKETS_LEAVING_MAX,
      nonce: info.nonce,
      shared: this.#shared,
      on: {
        admits: (ip) => !this.#closed && handlers.admits(ip),
        isNamed: (ip) => handlers.isNamed?.(ip) ?? false,
        accept: (link, info) => this.#accept(link, info),
        refused: (ip, close) => {
          this.#observer.count('p2p_refused_total', 1, { code: String(close.code) });
          this.#observer.log('debug', 'PEER_REFUSED', 'A peer was refused', { ip, ...close });
        },
        overused: (link, ip, detail) => {
          if (link !== undefined) this.#owners.get(link)?.overused(detail);
          this.#observer.log('debug', 'PEER_OVERUSE', 'a peer sends more frames than its rate limit allows', {
            ip,
            detail,
          });
        },
        flooded: (link, ip, detail) => {
          if (link !== undefined) this.#owners.get(link)?.flooded(detail);
          this.#observer.log(
            'debug',
            'PEER_FRAME_FLOOD',
            'the connection of a peer that sends far too many frames was cut',
            {
              ip,
              detail,
            },
          );
        },
        overflowed: (ip, detail) => {
          this.#overflowed(ip, detail);
        },
        failed: (ip, error) => {
          this.#observer.log('error', 'PEER_HANDLER_FAILED', 'A handler failed', { ip, error });
        },
      },
    });
    this.announce(info);
    const fields = { host: this.#options.host, wsPort: this.wsPort };
    this.#observer.log('info', 'PEER_LISTENER_OPEN', 'Listening for peers', fields);
  }

  async connect(address: PeerAddress): Promise<PeerId> {
    const peerId = peerIdOf(address);
    const failed = (close: CloseReason, cause?: unknown): ProtocolError =>
      new ProtocolError('DIAL_FAILED', { peerId, ...close }, undefined, { cause });
    const info = this.#info;
    if (this.#closed || this.#context === undefined || info === undefined)
      throw failed({ code: 1000, reason: 'The transport is closed' });
    if (this.#peers.has(peerId) || this.#dials.has(peerId)) throw failed(CLOSE.duplicate);

    const connection = new PeerConnection('outbound', address, this.#context);
    const { link, outcome } = dial({
      address,
      dialect: this.#options.dialect,
      info,
      clock: this.#options.clock,
      timeoutMs: this.#timeouts.dialMs,
      shared: this.#shared,
      on: {
        ...connection.events((reason) => {
          this.#ended(connection, reason);
        }),
        overused: (detail) => {
          connection.overused(detail);
        },
        flooded: (detail) => {
          connection.flooded(detail);
        },
        overflowed: (detail) => {
          this.#overflowed(address.ip, detail);
        },
      },
    });
    this.#track(link, connection);
    this.#dials.add(peerId);
    try {
      const refusal = await outcome;
      if (refusal !== undefined) throw failed(refusal);
      connection.pushInfo();
      const incompatible = await connection.fetchInfo();
      if (incompatible !== undefined) link.close({ code: CLOSE.protocol.code, reason: incompatible });
      else if (!this.#wins(connection)) link.close(CLOSE.duplicate);
    } catch (error) {
      if (error instanceof ProtocolError && error.code === 'DIAL_FAILED') throw error;
      const ended = link.ended;
      link.close({ code: 1000, reason: 'No answer to the first request' });
      throw failed(ended ?? { code: 1000, reason: messageOf(error) }, error);
    } finally {
      this.#dials.delete(peerId);
    }
    if (link.ended !== undefined) throw failed(link.ended);
    this.#peers.set(peerId, connection);
    this.#open(connection);
    return peerId;
  }

  disconnect(peerId: PeerId, reason: CloseReason): void {
    this.#peers.get(peerId)?.close(reason);
  }

  connections(): readonly Connection[] {
    return [...this.#peers.values()].filter((connection) => connection.announced);
  }

  async request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>> {
    const connection = this.#peers.get(peerId);
    if (connection !== undefined) return connection.request(request);
    throw new ProtocolError('REQUEST_FAILED', { peerId, request: request.kind, reason: 'not connected' });
  }

  send(peerId: PeerId, message: PeerMessage): void {
    this.#peers.get(peerId)?.send(message);
  }

  announce(info: NodeInfo): void {
    this.#info = { ...info, wsPort: this.wsPort };
    this.#packedInfo = this.#options.dialect.packInfo(this.#info);
    for (const connection of this.#peers.values()) if (connection.announced) connection.pushInfo();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const link of [...this.#links]) link.close(LEAVING);
    await this.#allGone();
    for (const link of [...this.#links]) link.terminate(LEAVING);
    await this.#listener?.close();
  }

  /** Waits until every WebSocket is closed, for at most `leaveMs`. */
  #allGone(): Promise<void> {
    return new Promise((settle) => {
      const timer = this.#options.clock.after(this.#timeouts.leaveMs, settle);
      void Promise.all([...this.#links].map((link) => link.gone)).then(() => {
        timer.cancel();
        settle();
      });
    });
  }

  #track(link: Link, connection: PeerConnection): void {
    connection.attach(link);
    link.shareLimit(() => this.#unsentBytes());
    this.#links.add(link);
    this.#owners.set(link, connection);
    void link.gone.then(() => this.#links.delete(link));
  }

  #unsentBytes(): number {
    let bytes = 0;
    for (const link of this.#links) bytes += link.unsentBytes;
    return bytes;
  }

  #accept(link: Link, info: PeerInfo): (() => void) | undefined {
    const refuse = (reason: CloseReason): undefined => {
      link.close(reason);
      return undefined;
    };
    if (this.#closed || this.#context === undefined) return refuse(LEAVING);
    const connection = new PeerConnection('inbound', info, this.#context);
    // This node refuses the inbound connection as a duplicate if `#peers` already contains a connection with the peer.
    // An unfinished dial from this node to the peer does not make the inbound connection a duplicate. A peer that runs
    // lisk-sdk refuses the dial of this node while the peer dials this node. If this node also refused the dial of the
    // peer, both dials could fail. If both dials succeed, `#wins` keeps one of the two connections.
    if (this.#peers.has(connection.peerId)) return refuse(CLOSE.duplicate);
    if (!this.#makeRoom()) return refuse({ code: 1000, reason: 'No inbound connection is free' });
    link.listen(
      connection.events((reason) => {
        this.#ended(connection, reason);
      }),
      this.#options.dialect.events,
    );
    this.#track(link, connection);
    this.#peers.set(connection.peerId, connection);
    connection.pushInfo(true);
    return () => {
      if (link.ended !== undefined) return;
      this.#open(connection);
      connection.startProbe();
    };
  }

  /**
   * Makes room for a new inbound connection. If the maximum number of inbound connections is reached, this function
   * disconnects the peer that the handler `evict` chooses.
   *
   * @returns false if there is still no room for the new connection
   */
  #makeRoom(): boolean {
    const inbound = [...this.#peers.values()].filter((connection) => connection.direction === 'inbound');
    if (inbound.length < this.#options.inboundMax) return true;
    const open = inbound.filter((connection) => connection.announced);
    const evicted = open.length === 0 ? undefined : this.#context?.handlers.evict(open);
    if (evicted === undefined) return false;
    this.disconnect(evicted, { code: 4418, reason: `Evicted inbound peer ${evicted}` });
    return !this.#peers.has(evicted);
  }

  /**
   * Returns true if this node must keep the outbound connection `dialled`. If both nodes dialled each other at the same
   * time, there are two connections. Both nodes keep the connection that the node with the smaller nonce dialled. If
   * the peer has sent no nonce, this node keeps the inbound connection. If this node keeps the outbound connection,
   * this function closes the inbound connection.
   */
  #wins(dialled: PeerConnection): boolean {
    const rival = this.#peers.get(dialled.peerId);
    if (rival === undefined) return true;
    const ownNonce = this.#info?.nonce ?? '';
    if (rival.info.nonce === undefined || ownNonce >= rival.info.nonce) return false;
    rival.close(CLOSE.duplicate);
    return true;
  }

  #overflowed(ip: string, detail: string): void {
    this.#observer.log('info', 'PEER_BYTES_OVERFLOW', 'the connection of a peer that sends too many bytes was closed', {
      ip,
      detail,
    });
  }

  #open(connection: PeerConnection): void {
    connection.announced = true;
    this.#observer.count('p2p_connections_total', 1, { direction: connection.direction });
    this.#context?.handlers.connected(connection);
  }

  #ended(connection: PeerConnection, reason: CloseReason): void {
    if (this.#peers.get(connection.peerId) === connection) this.#peers.delete(connection.peerId);
    if (!connection.announced) return;
    connection.announced = false;
    this.#observer.count('p2p_disconnections_total', 1, { code: codeLabel(reason.code) });
    this.#context?.handlers.disconnected(connection.peerId, connection.direction, reason);
  }
}
