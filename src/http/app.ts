/** The HTTP interface of a node: opens the listener, closes it within a second. */

import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { NodeApi } from '../ports/node-api.ts';
import { createAnswerMemory } from './answer-memory.ts';
import type { Dialect } from './dialect.ts';
import { createEventHub } from './events/hub.ts';
import { createApp } from './pipeline.ts';
import { HTTP_DEFAULTS, type HttpOptions, type TlsOptions } from './options.ts';
import { createRateLimit } from './rate-limit.ts';
import { createShortWay } from './short-way.ts';

export interface HttpServer {
  /**
   * Opens the listener.
   *
   * @returns the port, which matters when 0 was asked for
   * @throws ProtocolError `PORT_IN_USE` with `port`, or `LISTEN_FAILED` with `address`, `port` and `reason`
   */
  start(): Promise<{ readonly port: number; readonly tlsPort?: number }>;
  /** Refuses new connections, lets answers under way finish for a moment, then cuts what is left. */
  close(): Promise<void>;
}

/** Time for answers under way when the server closes, in milliseconds. */
const CLOSE_GRACE_MS = 500;
/** Time to receive a whole request, in milliseconds; larger than any `headersTimeoutMs`. */
const REQUEST_TIMEOUT_MS = 60_000;
/** How often connections are looked at for time-outs, in milliseconds. */
const TIMEOUT_CHECK_MS = 1_000;
/** Connections open at once, streams of events included: what is beyond is cut at once. */
export const CONNECTIONS_MAX = 5_000;

/** @param options what differs from `HTTP_DEFAULTS` */
export function createHttpServer(api: NodeApi, options: Partial<HttpOptions> = {}): HttpServer {
  const settings: HttpOptions = { ...HTTP_DEFAULTS, ...options };
  const dialect: Dialect = { generation: api.params.generation, strict: settings.strictDialect };
  const hub = createEventHub(api, dialect, { ...settings.events, observer: settings.observer });
  const limit = createRateLimit(settings.limits);
  const memory = createAnswerMemory(api, settings.keepAnswers);
  const takeShortWay = createShortWay(api, settings, { dialect, limit, memory });
  const app = createApp(api, settings, { dialect, hub, limit, memory });
  const listener: RequestListener = (request, response) => {
    const goLong = () => void app(request, response);
    if (!takeShortWay(request, response, goLong)) goLong();
  };
  const timeouts = {
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    headersTimeout: settings.limits.headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
  };
  const { tls } = settings;
  const plain = createServer(timeouts, listener);
  const secure = tls && createTlsServer(tls, timeouts, listener);
  for (const server of [plain, secure]) {
    if (server === undefined) continue;
    server.setTimeout(settings.limits.idleTimeoutMs);
    server.maxConnections = CONNECTIONS_MAX;
  }
  return {
    async start() {
      const { port } = await listen(plain, settings.port, settings);
      if (secure === undefined || tls === undefined) return { port };
      try {
        return { port, tlsPort: (await listen(secure, tls.port, settings)).port };
      } catch (error) {
        await close(plain);
        throw error;
      }
    },
    async close() {
      hub.close();
      await Promise.all([close(plain), ...(secure === undefined ? [] : [close(secure)])]);
    },
  };
}

/** @throws ProtocolError `TLS_INVALID` when key and certificate are none, or do not belong together */
function createTlsServer({ key, certificate }: TlsOptions, timeouts: object, listener: RequestListener): Server {
  try {
    return createHttpsServer({ ...timeouts, key, cert: certificate, minVersion: 'TLSv1.2' }, listener);
  } catch (error) {
    const reason = messageOf(error);
    throw new ProtocolError('TLS_INVALID', { reason }, `key and certificate cannot be used: ${reason}`, {
      cause: error,
    });
  }
}

function listen(server: Server, port: number, settings: HttpOptions): Promise<{ readonly port: number }> {
  const { address, observer } = settings;
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new ProtocolError('PORT_IN_USE', { port }, `port ${port} is in use by another program`)
          : new ProtocolError('LISTEN_FAILED', { address, port, reason: messageOf(error) }, undefined, {
              cause: error,
            }),
      );
    };
    server.once('error', refuse);
    server.listen(port, address, () => {
      server.off('error', refuse);
      server.on('error', (error) =>
        observer.log('error', 'HTTP_SERVER_ERROR', 'The HTTP listener failed', { error: messageOf(error) }),
      );
      resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const cut = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  server.closeIdleConnections();
  await closed;
  clearTimeout(cut);
}
