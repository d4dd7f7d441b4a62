/**
 * Opens the sockets on which the HTTP server listens: one without TLS and, if configured, one with TLS. For each
 * connection of both sockets, the admission (`Admission`) first decides whether the node accepts the connection. The
 * accepted connections of both sockets go to the same HTTP parser.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { isPortBlocked } from '../primitives/blocked-ports.ts';
import { messageOf, portInUse, ProtocolError } from '../primitives/errors.ts';
import { NOT_LISTED } from './access.ts';
import type { Admission } from './admission/admission.ts';
import type { ClientConnection } from './admission/client-connection.ts';
import { lastAnswer, malformedAnswer } from './admission/refused-answers.ts';
import { fixedCorsHeaders } from './cors-headers.ts';
import { listeningSocketOf, type ListeningSocket, type ListeningSockets } from './listening-socket.ts';
import type { HttpOptions, TlsOptions } from './options.ts';

export interface Listeners {
  /** @throws ProtocolError in the same cases as `HttpServer.start` */
  open(): Promise<{ readonly port: number; readonly tlsPort?: number }>;
  /** Returns the listening sockets. Throws before `open`. */
  sockets(): ListeningSockets;
  /** Accepts no new connections. Resolves when all connections are closed, or after `DRAIN_MS_MAX`. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Maximum number of connections that wait in a queue of the operating system until the node accepts them. Linux limits
 * the number to the same value by default (`net.core.somaxconn`). If the queue is full when a client connects, the
 * client tries again only after a second. The queue is long, so that a burst of connections does not delay a connection
 * of the operator in this way.
 */
const BACKLOG = 4_096;
/**
 * Maximum time in milliseconds for which `drain` waits until all connections are closed. By default, node:http closes
 * an idle connection after half this time.
 */
const DRAIN_MS_MAX = 10_000;
/** Time in milliseconds that running answers have to finish when the listeners close. */
const CLOSE_GRACE_MS = 500;

/**
 * @param parser server of node:http that does not listen itself; it parses the requests of the admitted sockets
 * @param mayAsk returns false for an address that is not allowed to send requests. The node does not parse requests
 *   from such an address
 * @throws ProtocolError `TLS_INVALID` when key or certificate is invalid, or when they do not belong together
 */
export function createListeners(
  parser: HttpServer,
  admission: Admission,
  mayAsk: (address: string) => boolean,
  options: HttpOptions,
): Listeners {
  const notListed = lastAnswer(NOT_LISTED.status, NOT_LISTED.body, fixedCorsHeaders(options.cors.origin));

  const serve = (socket: Socket, connection: ClientConnection): void => {
    const address = socket.remoteAddress;
    if (address === undefined) return connection.destroy();
    if (!mayAsk(address)) return connection.refuseAll(socket, notListed, 'access');
    connection.serve(socket, (ready) => void parser.emit('connection', ready));
  };

  parser.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const connection = admission.of(socket);
    if (connection === undefined || connection.isLingering || error.code === 'ECONNRESET') return socket.destroy();
    connection.end(malformedAnswer(error.code));
    admission.refused(connection, 'malformed');
    return undefined;
  });

  // The node refuses tunnels (requests with the method CONNECT). The handler also listens for errors of the socket,
  // because node:http no longer handles these errors after a `connect` event.
  parser.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    const connection = admission.of(socket);
    if (connection === undefined) return socket.destroy();
    connection.cut('malformed');
    return undefined;
  });

  const plain = listenerFor((socket) => {
    admission.accept(socket, true, (connection) => serve(socket, connection));
  });
  const { tls } = options;
  const secure = tls && createSecureListener(tls, admission, serve);

  const closedAll = () => Promise.all([closed(plain), ...(secure === undefined ? [] : [closed(secure)])]);

  return {
    async open() {
      const { port } = await listen(plain, options.listenOn?.plain ?? options.port, options);
      if (secure === undefined || tls === undefined) return { port };
      try {
        return { port, tlsPort: (await listen(secure, options.listenOn?.tls ?? tls.port, options)).port };
      } catch (error) {
        await closed(plain);
        throw error;
      }
    },
    sockets: () => ({
      plain: listeningSocketOf(plain),
      ...(secure === undefined ? {} : { tls: listeningSocketOf(secure) }),
    }),
    async drain() {
      const tooLong = new Promise<void>((resolve) => setTimeout(resolve, DRAIN_MS_MAX).unref());
      await Promise.race([closedAll(), tooLong]);
    },
    async close() {
      const done = closedAll();
      admission.closeIdle();
      const cut = setTimeout(() => admission.close(), CLOSE_GRACE_MS);
      await done;
      clearTimeout(cut);
      admission.close();
    },
  };
}

/**
 * Creates a listener. A client can end its side of the connection and still read the answer. Therefore the listener
 * does not end a connection when the client has sent its last byte. The node reads nothing from a new connection before
 * the admission (`Admission`, which limits the connections of clients) has accepted the connection.
 */
function listenerFor(accept: (socket: Socket) => void): Server {
  return createServer({ allowHalfOpen: true, pauseOnConnect: true }, accept);
}

/**
 * Time, in milliseconds, that the fair scheduler (`FairScheduler`) counts for the TLS handshake of a client that is not
 * trusted. The scheduler limits the main thread's time for all such clients together. If the key is an RSA key of 2,048
 * bits, the node spends most of this time on the RSA signature of the handshake.
 */
const TLS_HANDSHAKE_MS = 1.7;

/**
 * Creates the TLS listener. The TLS handshake of a connection begins only after the admission (`Admission`, which
 * limits the connections of clients) has accepted the connection.
 */
function createSecureListener(
  tls: TlsOptions,
  admission: Admission,
  serve: (socket: Socket, connection: ClientConnection) => void,
): Server {
  /**
   * Open connections of the TLS listener, by remote address and port. After a handshake, the listener finds the
   * connection in this map.
   */
  const handshaking = new Map<string, ClientConnection>();
  const nameOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`;
  const handshakes = createHandshakes(tls);
  handshakes.on('secureConnection', (secured) => {
    const connection = handshaking.get(nameOf(secured));
    if (connection === undefined) return void secured.destroy();
    admission.bind(secured, connection);
    serve(secured, connection);
  });
  handshakes.on('tlsClientError', (_error, secured) => secured.destroy());
  const admitted = (socket: Socket, connection: ClientConnection): void => {
    const name = nameOf(socket);
    handshaking.set(name, connection);
    socket.on('close', () => {
      if (handshaking.get(name) === connection) handshaking.delete(name);
    });
    const begin = (): void => {
      if (!socket.destroyed) handshakes.emit('connection', socket);
    };
    if (connection.isTrusted) return begin();
    admission.scheduler.take(connection.key, () => {
      admission.scheduler.spend(TLS_HANDSHAKE_MS);
      begin();
    });
  };
  return listenerFor((socket) => admission.accept(socket, false, (connection) => admitted(socket, connection)));
}

/** @throws ProtocolError `TLS_INVALID` when key or certificate is invalid, or when they do not belong together */
export function checkTlsPair(tls: TlsOptions): void {
  createHandshakes(tls);
}

/** @throws ProtocolError `TLS_INVALID` in the same cases as `checkTlsPair` */
function createHandshakes({ key, certificate }: TlsOptions): TlsServer {
  try {
    const server = createTlsServer({ key, cert: certificate, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] });
    // OpenSSL accepts a key and a certificate of different kinds, for example RSA and EC. Each handshake would then
    // fail.
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key does not belong to the certificate');
    return server;
  } catch (error) {
    const reason = messageOf(error);
    throw new ProtocolError('TLS_INVALID', { reason }, `key and certificate cannot be used: ${reason}`, {
      cause: error,
    });
  }
}

/** @param place port, or a listening socket of another process */
function listen(
  server: Server,
  place: number | ListeningSocket,
  { address, observer }: HttpOptions,
): Promise<{ readonly port: number }> {
  const port = typeof place === 'number' ? place : 0;
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? portInUse(port)
          : new ProtocolError('LISTEN_FAILED', { address, port, reason: messageOf(error) }, undefined, {
              cause: error,
            }),
      );
    };
    server.once('error', refuse);
    const listening = (): void => {
      server.off('error', refuse);
      server.on('error', (error) =>
        observer.log('error', 'HTTP_SERVER_ERROR', 'The HTTP listener failed', { error: messageOf(error) }),
      );
      const { port: own } = server.address() as AddressInfo;
      if (isPortBlocked(own)) {
        const text = 'browsers and most HTTP clients refuse to ask this port: choose another http.port';
        observer.log('warn', 'HTTP_PORT_BLOCKED', text, { port: own });
      }
      resolve({ port: own });
    };
    if (typeof place === 'number') server.listen({ port: place, host: address, backlog: BACKLOG }, listening);
    else server.listen(place, BACKLOG, listening);
  });
}

async function closed(server: Server): Promise<void> {
  if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
}
