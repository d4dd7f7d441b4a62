/** Listens for peers: an HTTP server that only answers upgrades, and the checks of a handshake. */

import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

import type { WebSocket } from 'ws';

import { ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { PeerInfo } from '../ports/transport.ts';
import { CLOSE, type QueryVerdict, type WireDialect } from './dialect.ts';
import { PreHandshakeLimiter } from './pre-handshake-limiter.ts';
import { arrivalOf, FrameFilter, type FrameFilterEvents } from './frame-filter.ts';
import { Link } from './link.ts';
import { ipv4Of } from './packets.ts';
import { ReceivePause } from './receive-pause.ts';
import { attachServer, type ServerSocket } from './socket-cluster.ts';
import { UnsolicitedBytesBudget, type SharedUnsolicitedBytesBudget } from './unsolicited-bytes.ts';
import { type LineControl, UnfinishedMessages } from './unfinished.ts';
import { HEAD_BYTES_MAX, screenUpgrade } from './upgrade-screen.ts';

export interface ListenOptions {
  /** IPv4 address to bind. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly wsPort: number;
  readonly dialect: WireDialect;
  readonly clock: Clock;
  /** Time in which a connection must send its handshake. */
  readonly handshakeTimeoutMs: number;
  /** Connections without handshake at a time; the address with most of them gives one up for a newcomer. */
  readonly strangersMax: number;
  /** New connections of one address in ten seconds. */
  readonly arrivalsPerIpMax: number;
  /** TCP connections at a time, whatever they carry. */
  readonly socketsMax: number;
  /** The nonce of this node, to recognise a connection to itself. */
  readonly nonce: string;
  readonly crowd: SharedUnsolicitedBytesBudget;
  readonly on: ListenerEvents;
}

interface ListenerEvents {
  admits(ip: string): boolean;
  /** Whether the operator named a peer at an IP. */
  isNamed(ip: string): boolean;
  /**
   * Takes the link of a compatible peer, or closes it. The handshake is answered after this returns, unless the link was
   * closed.
   *
   * @returns a function to call when the handshake is answered; undefined if the link was closed
   */
  accept(link: Link, info: PeerInfo): (() => void) | undefined;
  refused(ip: string, verdict: Extract<QueryVerdict, { accepted: false }>['close']): void;
  /** The peer sent more frames than are read. */
  overused(link: Link | undefined, ip: string, detail: string): void;
  /** The peer sent so many frames that the line was cut. */
  flooded(link: Link | undefined, ip: string, detail: string): void;
  /** The peer sent more bytes than honest peers do. The line was closed, at no cost to the address. */
  overflowed(ip: string, detail: string): void;
}

export interface Listener {
  readonly wsPort: number;
  /** Stops listening and cuts whatever is still connected. */
  close(): Promise<void>;
}

/** The state of an accepted WebSocket, from its first byte on. */
interface Line {
  readonly ip: string;
  readonly filter: FrameFilter;
  link: Link | undefined;
  welcome: (() => void) | undefined;
}

/** @throws ProtocolError `PORT_IN_USE` with port and host, `LISTEN_FAILED` for any other reason */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { dialect, on } = options;
  // It does not listen: the caller hands it the connections that asked for a WebSocket.
  const http = createHttpServer({ maxHeaderSize: HEAD_BYTES_MAX }, ({ socket }) => {
    socket.destroy();
  });
  http.on('clientError', (_error, socket) => {
    socket.destroy();
  });
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const sockets = new Set<Socket>();
  server.maxConnections = options.socketsMax;
  const limiter = new PreHandshakeLimiter(options);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      limiter.leave(socket);
    });
    if (!limiter.enter(socket, ipv4Of(socket.remoteAddress) ?? '')) return;
    screenUpgrade(socket, {
      path: dialect.path,
      clock: options.clock,
      timeoutMs: options.handshakeTimeoutMs,
      passed: () => {
        const ip = ipv4Of(socket.remoteAddress) ?? '';
        // No other listener exists while the socket waits, and an error without a listener would end the process.
        const leave = (): void => void socket.destroy();
        socket.on('error', leave);
        limiter.greet(socket, ip, on.isNamed(ip), () => {
          socket.off('error', leave);
          http.emit('connection', socket);
          socket.resume();
        });
      },
    });
  });

  const lines = new WeakMap<WebSocket, Line>();
  const unfinished = new UnfinishedMessages<WebSocket>(options.clock);

  /** Runs inside the event of the new WebSocket, before the library has it: the first frame finds the filter in place. */
  function guard(webSocket: WebSocket, request: IncomingMessage): void {
    const ip = ipv4Of(request.socket.remoteAddress) ?? '';
    const flow: FrameFilterEvents = {
      overused: (detail) => {
        on.overused(line.link, ip, detail);
      },
      flooded: (detail) => {
        cut();
        on.flooded(line.link, ip, detail);
      },
      overflowed: (detail) => {
        if (line.link === undefined) cut();
        else line.link.close(CLOSE.overflow);
        on.overflowed(ip, detail);
      },
    };
    const filter = new FrameFilter('acceptor', dialect, options.clock, flow, new UnsolicitedBytesBudget(options.crowd));
    const line: Line = { ip, filter, link: undefined, welcome: undefined };
    lines.set(webSocket, line);
    const pause = new ReceivePause(webSocket, options.clock);
    function cut(): void {
      filter.close();
      webSocket.removeAllListeners('message');
      webSocket.terminate();
    }
    const control: LineControl = {
      hold: () => {
        pause.hold();
      },
      release: () => {
        pause.release();
      },
      giveUp: () => {
        if (line.link === undefined) cut();
        else line.link.terminate({ code: 1006, reason: 'Peer does not finish its messages' });
      },
    };
    // Runs before the listener of the WebSocket, which emits the messages that end with these bytes.
    request.socket.prependListener('data', (bytes: Buffer) => {
      unfinished.arrived(webSocket, bytes.length, control);
    });
    webSocket.on('close', () => {
      unfinished.ended(webSocket);
      pause.end();
    });
    webSocket.on('message', (data) => {
      unfinished.ended(webSocket);
      pause.waitFor(filter.count(arrivalOf(data)));
    });
    // Nodes never send control frames; the reference closes the connection of a peer that does.
    webSocket.on('ping', cut);
    webSocket.on('pong', cut);
  }

  function lineOf(socket: ServerSocket): Line & { link: Link } {
    const line = lines.get(socket.socket);
    if (line === undefined) throw new Error('a WebSocket without its filter');
    line.link ??= new Link(socket, socket.socket, line.filter);
    return line as Line & { link: Link };
  }

  function refuse(line: Line & { link: Link }, verdict: Extract<QueryVerdict, { accepted: false }>): void {
    line.link.close(verdict.close, verdict.body);
    on.refused(line.ip, verdict.close);
  }

  /** The handshake frame arrived: says whether it is answered. */
  function handshake(socket: ServerSocket): boolean {
    const line = lineOf(socket);
    if (line.link.ended !== undefined) return false;
    if (line.ip === '' || !on.admits(line.ip)) {
      refuse(line, { accepted: false, close: CLOSE.forbidden });
      return false;
    }
    const url = socket.request.url ?? '';
    const start = url.indexOf('?');
    const query = new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
    const verdict = dialect.readQuery(query, line.ip, options.nonce);
    if (!verdict.accepted) {
      refuse(line, verdict);
      return false;
    }
    line.welcome = on.accept(line.link, verdict.info);
    if (line.welcome !== undefined) limiter.leave(socket.request.socket);
    return line.welcome !== undefined;
  }

  attachServer(http, {
    path: dialect.path,
    handshakeTimeoutMs: options.handshakeTimeoutMs,
    on: {
      admitsUpgrade: (request) => !dialect.bansAtUpgrade || on.admits(ipv4Of(request.socket.remoteAddress) ?? ''),
      upgraded: guard,
      created: (socket) => {
        const line = lineOf(socket);
        if (line.ip === '' || !on.admits(line.ip)) refuse(line, { accepted: false, close: CLOSE.forbidden });
      },
      frame: (socket, text) => lines.get(socket.socket)?.filter.admit(text) ?? null,
      handshake,
      opened: (socket) => lines.get(socket.socket)?.welcome?.(),
    },
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

function bound(server: Server, host: string, port: number): Promise<void> {
  return new Promise((settle, fail) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'LISTEN_FAILED';
      fail(new ProtocolError(code, { port, host }, `Cannot listen on ${host}:${String(port)}: ${error.message}`));
    });
    server.listen({ host, port, exclusive: true }, () => {
      settle();
    });
  });
}
