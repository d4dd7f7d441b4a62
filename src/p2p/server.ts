/**
 * Listens for peers, and checks each connection before and during its WebSocket handshake and its protocol handshake.
 */

import { createServer as createHttpServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

import type { WebSocket } from 'ws';

import { portInUse, ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { PeerInfo } from '../ports/transport.ts';
import { CLOSE, type QueryVerdict, type WireDialect } from './dialect.ts';
import { PreHandshakeLimiter } from './pre-handshake-limiter.ts';
import { arrivalOf, FrameFilter, type FrameFilterEvents } from './frame-filter.ts';
import { Link } from './link.ts';
import { ipv4Of } from './frame-validation.ts';
import { ReceivePause } from './receive-pause.ts';
import { attachServer, type ServerEvents, type ServerSocket } from './socket-cluster.ts';
import { UnsolicitedBytesBudget, type SharedUnsolicitedBytesBudget } from './unsolicited-bytes.ts';
import { type ConnectionControl, UnfinishedMessages } from './unfinished-messages.ts';
import { HEAD_BYTES_MAX, screenUpgrade } from './upgrade-screen.ts';

type Refusal = Extract<QueryVerdict, { accepted: false }>;

export interface ListenOptions {
  /** IPv4 address on which the server listens. */
  readonly host: string;
  /** Port on which the server listens. If the value is 0, the operating system chooses a free port. */
  readonly wsPort: number;
  readonly dialect: WireDialect;
  readonly clock: Clock;
  /**
   * Time limit in milliseconds for each of the two handshakes of a new connection: the WebSocket handshake and the
   * protocol handshake (see `TransportTimeouts.handshakeMs`).
   */
  readonly handshakeTimeoutMs: number;
  /**
   * If no message arrives for this time (in milliseconds), the node closes the connection. The answer to a heartbeat
   * also counts as a message.
   */
  readonly pongTimeoutMs: number;
  /**
   * Maximum number of connections with an unfinished handshake at the same time. If a new connection exceeds the
   * maximum, the server selects the address with the most unfinished handshakes, and closes the oldest unfinished
   * connection of this address.
   */
  readonly handshakesPendingMax: number;
  /** Maximum number of new connections from one address in ten seconds. The server closes further connections. */
  readonly arrivalsPerIpMax: number;
  /**
   * Maximum number of inbound TCP connections that are open at the same time, including connections whose handshake is
   * unfinished.
   */
  readonly socketsMax: number;
  /** The nonce of this node. A peer with the same nonce is this node itself. */
  readonly nonce: string;
  readonly shared: SharedUnsolicitedBytesBudget;
  readonly on: ListenerEvents;
}

interface ListenerEvents {
  admits(ip: string): boolean;
  /** Returns true if the configuration names a peer with this IP address (a named peer). */
  isNamed(ip: string): boolean;
  /**
   * Called when the server has found no fault in the handshake of a peer. `accept` either accepts the connection
   * (`link`) of this peer, or closes it. If `accept` accepts the connection, the server answers the handshake.
   *
   * @returns the function that the server calls after it has answered the handshake; undefined if `accept` closed the
   *   link
   */
  accept(link: Link, info: PeerInfo): (() => void) | undefined;
  refused(ip: string, verdict: Refusal['close']): void;
  /**
   * Called for every `FRAMES_DROPPED_PER_CHARGE` frames of a peer that the frame filter drops in one window
   * (`RATE_WINDOW_MS`) because of the rate limit.
   */
  overused(link: Link | undefined, ip: string, detail: string): void;
  /** Called after the server has closed a connection because `FRAMES_PER_SECOND_CUT` frames arrived in a second. */
  flooded(link: Link | undefined, ip: string, detail: string): void;
  /**
   * Called after the server has closed a connection because the frame filter dropped too many bytes in one window
   * (`FLOOD_WINDOW_MS`): `UnsolicitedBytesBudget.beyondBytes` exceeded `FLOOD_BYTES_MAX`. The handler must not penalise
   * the address.
   */
  overflowed(ip: string, detail: string): void;
  /** Called after the server has closed a connection because of an error of this node. */
  failed(ip: string, error: unknown): void;
}

export interface Listener {
  readonly wsPort: number;
  /** Stops listening, and closes all open connections. */
  close(): Promise<void>;
}

/**
 * The state that the server keeps for a WebSocket. The state exists before the first byte arrives over the WebSocket.
 */
interface AcceptedConnection {
  readonly ip: string;
  readonly filter: FrameFilter;
  link: Link | undefined;
  welcome: (() => void) | undefined;
}

type LinkedConnection = AcceptedConnection & { link: Link };

/**
 * @throws ProtocolError with the port and the host. The code is `PORT_IN_USE` if the port is in use, and
 *   `LISTEN_FAILED` for any other reason
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const limiter = new PreHandshakeLimiter(options);
  const connections = new AcceptedConnections(options, limiter);
  // The HTTP server does not listen on a port. `passUpgrade` passes a connection to the HTTP server after the
  // connection has asked for a WebSocket.
  const http = createHttpServer({ maxHeaderSize: HEAD_BYTES_MAX }, ({ socket }) => {
    socket.destroy();
  });
  http.on('clientError', (_error, socket) => {
    socket.destroy();
  });
  attachServer(http, {
    path: options.dialect.path,
    handshakeTimeoutMs: options.handshakeTimeoutMs,
    pongTimeoutMs: options.pongTimeoutMs,
    on: connections,
  });
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const sockets = new Set<Socket>();
  server.maxConnections = options.socketsMax;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      limiter.leave(socket);
    });
    if (limiter.enter(socket, ipOf(socket))) passUpgrade(socket, http, limiter, options);
  });
  await bound(server, options.host, options.wsPort);
  const address = server.address();
  return {
    wsPort: typeof address === 'object' && address !== null ? address.port : options.wsPort,
    close: () =>
      new Promise((settle) => {
        server.close(() => {
          settle();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/**
 * Passes a connection to the HTTP server when the connection has asked for a WebSocket and the limiter allows its
 * handshake.
 */
function passUpgrade(socket: Socket, http: HttpServer, limiter: PreHandshakeLimiter, options: ListenOptions): void {
  screenUpgrade(socket, {
    path: options.dialect.path,
    clock: options.clock,
    timeoutMs: options.handshakeTimeoutMs,
    passed: () => {
      const ip = ipOf(socket);
      // While the socket waits for the limiter, `leave` is the only listener for errors of the socket. An error without
      // a listener would end the process.
      const leave = (): void => void socket.destroy();
      socket.on('error', leave);
      limiter.greet(socket, ip, options.on.isNamed(ip), () => {
        socket.off('error', leave);
        http.emit('connection', socket);
        socket.resume();
      });
    },
  });
}

/**
 * Manages the WebSockets that the server has accepted. For each WebSocket, the class manages the frame filter, the
 * protocol handshake and the link.
 */
class AcceptedConnections implements ServerEvents {
  readonly #options: ListenOptions;
  readonly #limiter: PreHandshakeLimiter;
  readonly #connections = new WeakMap<WebSocket, AcceptedConnection>();
  readonly #unfinished: UnfinishedMessages<WebSocket>;

  constructor(options: ListenOptions, limiter: PreHandshakeLimiter) {
    this.#options = options;
    this.#limiter = limiter;
    this.#unfinished = new UnfinishedMessages<WebSocket>(options.clock);
  }

  admitsUpgrade({ socket }: IncomingMessage): boolean {
    const { dialect, on } = this.#options;
    return !dialect.bansAtUpgrade || on.admits(ipOf(socket));
  }

  /** Installs the frame filter before the first frame arrives. */
  upgraded(webSocket: WebSocket, { socket }: IncomingMessage): void {
    const { clock } = this.#options;
    const connection = this.#connectionOver(webSocket, ipOf(socket));
    this.#connections.set(webSocket, connection);
    const pause = new ReceivePause(webSocket, clock);
    const cut = (): void => {
      cutConnection(connection, webSocket);
    };
    const control: ConnectionControl = {
      hold: () => {
        pause.hold();
      },
      release: () => {
        pause.release();
      },
      giveUp: () => {
        if (connection.link === undefined) cut();
        else connection.link.terminate({ code: 1006, reason: 'Peer does not finish its messages' });
      },
    };
    // When the last bytes of a message arrive, the WebSocket's own listener emits the event `message`. The listener
    // below must run before the WebSocket's own listener. If the listener below ran after the event `message`, it would
    // count the last bytes of the finished message as a new unfinished message.
    socket.prependListener('data', (bytes: Buffer) => {
      this.#unfinished.arrived(webSocket, bytes.length, control);
    });
    webSocket.on('close', () => {
      this.#unfinished.ended(webSocket);
      pause.end();
    });
    webSocket.on('message', (data) => {
      this.#unfinished.ended(webSocket);
      pause.waitFor(connection.filter.count(arrivalOf(data)));
    });
    // Honest nodes never send WebSocket pings or pongs. If a peer sends a ping or a pong, this node closes the
    // connection, as a node of lisk-sdk does.
    webSocket.on('ping', cut);
    webSocket.on('pong', cut);
  }

  created(socket: ServerSocket): void {
    const connection = this.#linked(socket);
    if (!this.#admits(connection)) this.#refuse(connection, { accepted: false, close: CLOSE.forbidden });
  }

  frame(socket: ServerSocket, text: unknown): unknown {
    return this.#connections.get(socket.socket)?.filter.admit(text) ?? null;
  }

  handshake(socket: ServerSocket): boolean {
    const { dialect, nonce, on } = this.#options;
    const connection = this.#linked(socket);
    if (connection.link.ended !== undefined) return false;
    if (!this.#admits(connection)) {
      this.#refuse(connection, { accepted: false, close: CLOSE.forbidden });
      return false;
    }
    const url = socket.request.url ?? '';
    const start = url.indexOf('?');
    const query = new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
    const verdict = dialect.readQuery(query, connection.ip, nonce);
    if (!verdict.accepted) {
      this.#refuse(connection, verdict);
      return false;
    }
    connection.welcome = on.accept(connection.link, verdict.info);
    if (connection.welcome === undefined) return false;
    this.#limiter.leave(socket.request.socket);
    connection.filter.open();
    return true;
  }

  opened(socket: ServerSocket): void {
    this.#connections.get(socket.socket)?.welcome?.();
  }

  failed(socket: ServerSocket, error: unknown): void {
    const connection = this.#connections.get(socket.socket);
    if (connection === undefined) socket.socket.terminate();
    else cutConnection(connection, socket.socket);
    this.#options.on.failed(connection?.ip ?? '', error);
  }

  #connectionOver(webSocket: WebSocket, ip: string): AcceptedConnection {
    const { clock, shared, dialect, on } = this.#options;
    const filterEvents: FrameFilterEvents = {
      overused: (detail) => {
        on.overused(connection.link, ip, detail);
      },
      flooded: (detail) => {
        cutConnection(connection, webSocket);
        on.flooded(connection.link, ip, detail);
      },
      overflowed: (detail) => {
        if (connection.link === undefined) cutConnection(connection, webSocket);
        else connection.link.close(CLOSE.overflow);
        on.overflowed(ip, detail);
      },
    };
    const filter = new FrameFilter('acceptor', dialect, clock, filterEvents, new UnsolicitedBytesBudget(shared));
    const connection: AcceptedConnection = { ip, filter, link: undefined, welcome: undefined };
    return connection;
  }

  #linked(socket: ServerSocket): LinkedConnection {
    const connection = this.#connections.get(socket.socket);
    if (connection === undefined) throw new Error('a WebSocket without its filter');
    connection.link ??= new Link(socket, socket.socket, connection.filter);
    return connection as LinkedConnection;
  }

  #admits({ ip }: AcceptedConnection): boolean {
    return ip !== '' && this.#options.on.admits(ip);
  }

  #refuse(connection: LinkedConnection, { body, close }: Refusal): void {
    connection.link.close(close, body);
    this.#options.on.refused(connection.ip, close);
  }
}

/** Destroys a connection without sending a close frame. */
function cutConnection({ filter }: AcceptedConnection, webSocket: WebSocket): void {
  filter.close();
  webSocket.removeAllListeners('message');
  webSocket.terminate();
}

/**
 * Returns the IPv4 address of the peer of a connection. The result is an empty text if the peer has no IPv4 address.
 */
function ipOf({ remoteAddress }: Socket): string {
  return ipv4Of(remoteAddress) ?? '';
}

function bound(server: Server, host: string, port: number): Promise<void> {
  return new Promise((settle, fail) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const text = `Cannot listen on ${host}:${String(port)}: ${error.message}`;
      fail(
        error.code === 'EADDRINUSE' ? portInUse(port, host) : new ProtocolError('LISTEN_FAILED', { port, host }, text),
      );
    });
    server.listen({ host, port, exclusive: true }, () => {
      settle();
    });
  });
}
