/**
 * Adapts the SocketCluster libraries. No other file imports these libraries. This file uses members that the libraries
 * do not publish, or whose types are wrong. A comment at each cast below names the members.
 * `test/p2p/socket-cluster.test.ts` checks these members against the installed libraries. A test fails if an update
 * changes one of the members.
 */

import type { IncomingMessage, Server } from 'node:http';

import socketClusterClient from 'socketcluster-client';
import socketClusterServer from 'socketcluster-server';
import { type ClientOptions, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';

import { FRAME_BYTES_MAX, MESSAGE_FRAGMENTS_MAX } from './frame-validation.ts';

/** Time after which `ws` destroys the TCP connection if the peer does not answer the close frame. */
const CLOSE_TIMEOUT_MS = 2_000;
/**
 * Version of the SocketCluster protocol whose heartbeats are the frames `#1` and `#2`. The reference of each generation
 * uses this version.
 */
const PROTOCOL_VERSION = 1;
const PING_INTERVAL_MS = 8_000;

/** An option of `ws` that its types do not have yet. */
interface CloseTimeout {
  readonly closeTimeout: number;
}

/** Members that the library's client sockets and server sockets have in common. */
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
  /** Answers the call with an error. The answer contains the own members of the object `error`. */
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

/** A WebSocket upgrade, a protocol handshake or a received frame. The library asks this node whether to allow it. */
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
  /** Time limit for the handshake of the protocol, from the moment when the WebSocket opened. */
  readonly handshakeTimeoutMs: number;
  /**
   * Time after which a connection is closed if no message arrives, not even the answer to a heartbeat. The answer to
   * the handshake tells the peer this time.
   */
  readonly pongTimeoutMs: number;
  readonly on: ServerEvents;
}

export interface ServerEvents {
  /** Whether to accept an upgrade request. A refused request gets status 401. */
  admitsUpgrade(request: IncomingMessage): boolean;
  /** Called for a new WebSocket, before the library gets the WebSocket and before any frame arrives. */
  upgraded(webSocket: WebSocket, request: IncomingMessage): void;
  /** Called when the library has made a socket for an upgraded connection. */
  created(socket: ServerSocket): void;
  /**
   * Called for each message. Returns the value that the library handles instead of the received text; null if the node
   * drops the message.
   */
  frame(socket: ServerSocket, text: unknown): unknown;
  /** Called for the handshake frame. Returns whether to answer the frame. */
  handshake(socket: ServerSocket): boolean;
  /** Called after the library has answered the handshake. */
  opened(socket: ServerSocket): void;
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
    // The middleware below has already decoded the frames.
    codecEngine: { decode: (message: unknown) => message, encode: (value: unknown) => JSON.stringify(value) },
    // By its type, `Server` must be an instance of a server. But the library calls `new` on it, so it must be a class.
    wsEngine: { Server: ObservedServer as never },
    wsEngineServerOptions: limits,
    // The types of streams and actions are `any` or incomplete. The types lack the parameter `packet` of the function
    // `allow` of an action, and the member `request` of a socket.
  }) as unknown as LibraryServer;

  server.setMiddleware('inboundRaw', (stream) => {
    void (async () => {
      for await (const action of stream) action.allow({ data: on.frame(action.socket, action.data) });
    })();
  });
  server.setMiddleware('handshake', (stream) => {
    void (async () => {
      for await (const action of stream) {
        if (action.type === 'handshakeWS') {
          if (on.admitsUpgrade(action.request)) action.allow();
          else action.block(new Error('Unauthorized'));
        } else if (on.handshake(action.socket)) action.allow();
        else action.block(new Error('Refused'));
      }
    })();
  });
  void (async () => {
    for await (const { socket } of server.listener('handshake')) on.created(socket);
  })();
  void (async () => {
    for await (const { socket } of server.listener('connection')) on.opened(socket);
  })();
}

export interface ClientOptionsOfNode {
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  readonly query: Record<string, string>;
  /**
   * Timeout of the TCP handshake and the WebSocket upgrade together. The protocol handshake has a second timeout of the
   * same length.
   */
  readonly timeoutMs: number;
  /**
   * Decodes each frame except heartbeats. Must not throw, because the library calls `decode` in an event listener of
   * the WebSocket.
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
    codecEngine: { decode, encode: (value: unknown) => JSON.stringify(value) },
    wsOptions: limits,
  });
  const opened = client.listener('connect').once();
  client.connect();
  // The library's types lack `isStale`, and give the data of calls and events as `any`. `connect` has already created
  // the member `transport`.
  const socket = client as unknown as ClientSocket;
  // If a transport without heartbeats counted as stale, the library would silently dial a new connection for the next
  // message. A timer of the library ends a connection without heartbeats anyway.
  socket.transport.isStale = () => false;
  return { socket, webSocket: socket.transport.socket, opened: opened.then(() => undefined) };
}

/**
 * Reserves the number of the next call on an inbound connection. Before the answer to the handshake, this node sends a
 * call without the library (`Link.sendEarly`). This call needs a number that the library will not use again. The
 * library has no public member for this purpose.
 */
export function takeCallId(socket: LibrarySocket): number {
  if (!('_nextCallId' in socket)) throw new Error('only an accepted connection sends before its handshake is answered');
  return socket._nextCallId();
}
