/** The HTTP interface of a node: opens the listener, closes it within a second. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import type { NodeApi } from '../ports/node-api.ts';
import type { Dialect } from './dialect.ts';
import { createEventHub } from './events/hub.ts';
import { createApp } from './pipeline.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './options.ts';

export interface HttpServer {
  /**
   * Opens the listener.
   *
   * @returns the port, which matters when 0 was asked for
   * @throws ProtocolError `PORT_IN_USE` with `port`, or `LISTEN_FAILED` with `address`, `port` and `reason`
   */
  start(): Promise<{ readonly port: number }>;
  /** Refuses new connections, lets answers under way finish for a moment, then cuts what is left. */
  close(): Promise<void>;
}

/** Time for answers under way when the server closes, in milliseconds. */
const CLOSE_GRACE_MS = 500;
/** Time to receive a whole request, in milliseconds; larger than any `headersTimeoutMs`. */
const REQUEST_TIMEOUT_MS = 60_000;
/** How often connections are looked at for time-outs, in milliseconds. */
const TIMEOUT_CHECK_MS = 1_000;

/** @param options what differs from `HTTP_DEFAULTS` */
export function createHttpServer(api: NodeApi, options: Partial<HttpOptions> = {}): HttpServer {
  const settings: HttpOptions = { ...HTTP_DEFAULTS, ...options };
  const dialect: Dialect = { generation: api.params.generation, strict: settings.strictDialect };
  const hub = createEventHub(api, dialect, { ...settings.events, observer: settings.observer });
  const server = createServer(
    {
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      headersTimeout: settings.limits.headersTimeoutMs,
      requestTimeout: REQUEST_TIMEOUT_MS,
    },
    createApp(api, settings, dialect, hub),
  );
  server.setTimeout(settings.limits.idleTimeoutMs);
  return {
    start: () => listen(server, settings),
    close: () => {
      hub.close();
      return close(server);
    },
  };
}

function listen(server: Server, settings: HttpOptions): Promise<{ readonly port: number }> {
  const { port, address, observer } = settings;
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
