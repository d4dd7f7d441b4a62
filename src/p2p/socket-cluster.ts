/**
 * Adapts the SocketCluster libraries. No other file imports these libraries. This file uses some members that are not
 * part of the public interface of the libraries, and some members to which the libraries give wrong types. The file
 * casts the types of these members, and a comment at each cast names the members. `test/p2p/socket-cluster.test.ts`
 * checks these members against the installed libraries. A test fails if an update changes one of the members.
 */

import type { IncomingMessage, Server } from 'node:http';

import socketClusterClient from 'socketcluster-client';
import socketClusterServer from 'socketcluster-server';
import { type ClientOptions, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';

import { FRAME_BYTES_MAX, MESSAGE_FRAGMENTS_MAX } from './frame-validation.ts';

/**
 * Time in milliseconds that a peer has for answering a close frame. If the peer does not answer, the library `ws`
 * destroys the TCP connection.
 */
const CLOSE_TIMEOUT_MS = 2_000;
/**
 * Version of the SocketCluster protocol. In this version, the heartbeats are the frames `#1` and `#2`. The lisk-sdk
 * release of each generation (2.3.8 and 3.0.2) uses this version.
 */
const PROTOCOL_VERSION = 1;
const PING_INTERVAL_MS = 8_000;

/** Declares the option `closeTimeout` of the library `ws`, because the types of `ws` do not declare this option yet. */
interface CloseTimeout {
  readonly closeTimeout: number;
}

/** The members that the sockets of the client library and the sockets of the server library have in common. */
interface CommonSocket {
  readonly state: 'connecting' | 'open' | 'closed';
  transmit(event: string, data: unknown): Promise<void>;
  invoke(event: string, data: unknown, options: { ackTimeout: number }): Promise<unknown>;
  procedure(name: string): AsyncIterable<LibraryCall>;
  receiver(name: string): AsyncIterable<unknown>;
  listener(name: 'close'): { once(): Promise<{ readonly code: number; readonly reason: string | undefined }> };
  send(text: string): void;
  disconnect(code: number, reason: string): unknown;
}

export interface LibraryCall {
  readonly data: unknown;
  end(data: unknown): void;
  /**
   * Answers this call of the peer with an error. The answer contains the members of the object `error`, except
   * inherited members.
   */
  error(error: object): void;
}

export interface ServerSocket extends CommonSocket {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  _nextCallId(): number;
}

interface ClientSocket extends CommonSocket {
  readonly transport: { readonly socket: WebSocket; isStale: () => boolean };
}

export type LibrarySocket = ServerSocket | ClientSocket;

/**
 * Describes a WebSocket upgrade, a protocol handshake or a received frame. For each of these, the library asks this
 * node whether to allow it, and the node calls `allow` or `block`.
 */
interface Action {
  readonly type: string;
  readonly data: unknown;
  readonly socket: ServerSocket;
  readonly request: IncomingMessage;
  allow(packet?: { data: unknown }): void;
  block(error: Error): void;
}

interface LibraryServer {
  setMiddleware(type: 'inboundRaw' | 'handshake', middleware: (stream: AsyncIterable<Action>) => void): void;
  listener(name: 'handshake' | 'connection'): AsyncIterable<{ socket: ServerSocket }>;
}

export interface ServerOptionsOfNode {
  readonly path: string;
  /** Time limit in milliseconds for the protocol handshake. The time starts when the WebSocket has opened. */
  readonly handshakeTimeoutMs: number;
  /**
   * If no message arrives on a connection for this time (in milliseconds), the library closes the connection. The
   * answer to a heartbeat also counts as a message. The node sends this time to the peer in its answer to the
   * handshake.
   */
  readonly pongTimeoutMs: number;
  readonly on: ServerEvents;
}

export interface ServerEvents {
  /**
   * Returns true if the library must accept an upgrade request. The library answers a refused request with status 401.
   */
  admitsUpgrade(request: IncomingMessage): boolean;
  /** Called for a new WebSocket, before the library gets the WebSocket and before any frame arrives. */
  upgraded(webSocket: WebSocket, request: IncomingMessage): void;
  /** Called when the library has made a socket for an upgraded connection. */
  created(socket: ServerSocket): void;
  /**
   * Called for each message. The library handles the returned value instead of the received text. If the node drops the
   * message, the function must return null.
   */
  frame(socket: ServerSocket, text: unknown): unknown;
  /** Called when the frame of the protocol handshake arrives. Returns true if the library must answer the handshake. */
  handshake(socket: ServerSocket): boolean;
  /** Called after the library has answered the handshake. */
  opened(socket: ServerSocket): void;
  /**
   * Called if `created`, `frame`, `handshake` or `opened` has thrown an error, which is a fault of this node. The
   * function must close the connection.
   */
  failed(socket: ServerSocket, error: unknown): void;
}

/** Lets the library handle the WebSocket upgrades of an HTTP server. */
export function attachServer(http: Server, { path, handshakeTimeoutMs, pongTimeoutMs, on }: ServerOptionsOfNode): void {
  class ObservedServer extends WebSocketServer {
    constructor(options?: ServerOptions) {
      super(options);
      this.on('connection', (webSocket, request) => {
        on.upgraded(webSocket, request);
      });
    }
  }
  const limits: ServerOptions & CloseTimeout = {
    maxPayload: FRAME_BYTES_MAX,
    maxFragments: MESSAGE_FRAGMENTS_MAX,
    perMessageDeflate: false,
    autoPong: false,
    closeTimeout: CLOSE_TIMEOUT_MS,
  };
  const server = socketClusterServer.attach(http, {
    path,
    protocolVersion: PROTOCOL_VERSION,
    pingInterval: PING_INTERVAL_MS,
    pingTimeout: pongTimeoutMs,
    handshakeTimeout: handshakeTimeoutMs,
    allowClientPublish: false,
    middlewareEmitFailures: false,
    // Peers have no authentication tokens. By its type, `verifyToken` must return a verified token, not null. The
    // library passes any value on, and null means that there is no token.
    authEngine: { verifyToken: () => Promise.resolve(null as never), signToken: () => Promise.resolve('') },
    // The middleware `inboundRaw` below decodes each frame before the library calls `decode`, so `decode` returns the
    // frame unchanged.
    codecEngine: { decode: (message: unknown) => message, encode: (value: unknown) => JSON.stringify(value) },
    // The type of the library declares `Server` as an instance of a server class. But the library calls `new` on
    // `Server`, so `Server` must be the class itself.
    wsEngine: { Server: ObservedServer as never },
    wsEngineServerOptions: limits,
    // In the types of the library, streams and actions have the type `any` or an incomplete type. The types declare
    // neither the parameter `packet` of the function `allow` of an action, nor the member `request` of a socket.
  }) as unknown as LibraryServer;

  // An error in one of the loops below would end the node, or at least the loop. Therefore an error ends only the
  // connection that has caused it.
  const attempt = <T>(socket: ServerSocket, otherwise: T, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      on.failed(socket, error);
      return otherwise;
    }
  };
  server.setMiddleware('inboundRaw', (stream) => {
    void (async () => {
      for await (const action of stream) {
        const { socket, data } = action;
        action.allow({ data: attempt(socket, null, () => on.frame(socket, data)) });
      }
    })();
  });
  server.setMiddleware('handshake', (stream) => {
    void (async () => {
      for await (const action of stream) {
        if (action.type === 'handshakeWS') {
          if (on.admitsUpgrade(action.request)) action.allow();
          else action.block(new Error('Unauthorized'));
        } else if (attempt(action.socket, false, () => on.handshake(action.socket))) action.allow();
        else action.block(new Error('Refused'));
      }
    })();
  });
  void (async () => {
    for await (const { socket } of server.listener('handshake')) attempt(socket, undefined, () => on.created(socket));
  })();
  void (async () => {
    for await (const { socket } of server.listener('connection')) attempt(socket, undefined, () => on.opened(socket));
  })();
}

export interface ClientOptionsOfNode {
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  readonly query: Record<string, string>;
  /**
   * Time limit in milliseconds for the TCP handshake and the WebSocket upgrade together. The protocol handshake, which
   * comes after the upgrade, has a separate time limit of the same length.
   */
  readonly timeoutMs: number;
  /**
   * Decodes each received frame except heartbeats. The function must not throw, because the library calls `decode` in
   * an event listener of the WebSocket.
   */
  decode(frame: unknown): unknown;
}

export interface Connecting {
  readonly socket: LibrarySocket;
  readonly webSocket: WebSocket;
  /** Resolves when the server has accepted the handshake. Stays pending if the handshake fails. */
  readonly opened: Promise<void>;
}

/** Starts to connect to a server. */
export function connectClient({ hostname, port, path, query, timeoutMs, decode }: ClientOptionsOfNode): Connecting {
  const limits: ClientOptions & CloseTimeout = {
    maxPayload: FRAME_BYTES_MAX,
    maxFragments: MESSAGE_FRAGMENTS_MAX,
    perMessageDeflate: false,
    handshakeTimeout: timeoutMs,
    closeTimeout: CLOSE_TIMEOUT_MS,
    autoPong: false,
    followRedirects: false,
  };
  const client = socketClusterClient.create({
    hostname,
    port,
    path,
    query,
    secure: false,
    protocolVersion: PROTOCOL_VERSION,
    autoConnect: false,
    autoReconnect: false,
    connectTimeout: timeoutMs,
    ackTimeout: timeoutMs,
    // Peers have no authentication tokens. Without the member `authEngine`, the library uses `localStorage`, in which a
    // peer could store a token. From version 25 on, Node.js has a `localStorage`, and prints a warning at its first
    // use.
    authEngine: {
      loadToken: () => Promise.resolve(null),
      saveToken: (_name, token) => Promise.resolve(token),
      removeToken: () => Promise.resolve(null),
    },
    codecEngine: { decode, encode: (value: unknown) => JSON.stringify(value) },
    wsOptions: limits,
  });
  const opened = client.listener('connect').once();
  client.connect();
  // The types of the library do not declare `isStale`, and declare the data of calls and events as `any`. The call of
  // `connect` above has created the member `transport`.
  const socket = client as unknown as ClientSocket;
  // If `isStale` returned true for a connection on which no heartbeats arrive, the library would silently dial a new
  // connection for the next message. `isStale` is not needed, because a timer of the library ends a connection on which
  // no heartbeats arrive.
  socket.transport.isStale = () => false;
  return { socket, webSocket: socket.transport.socket, opened: opened.then(() => undefined) };
}

/**
 * Reserves the number of the next call on an inbound connection. Before this node answers the handshake, it can send a
 * call directly, without the call function of the library (`Link.sendEarly`). The number of this call must be a number
 * that the library will not use again. The library has no public member for this purpose.
 */
export function takeCallId(socket: LibrarySocket): number {
  if (!('_nextCallId' in socket)) throw new Error('only an accepted connection sends before its handshake is answered');
  return socket._nextCallId();
}
