/**
 * The HTTP server of a node: it opens the listeners, answers requests, and closes within a second. Each request passes
 * the steps of `request-pipeline.ts`.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { NodeApi } from '../ports/node-api.ts';
import { SILENT } from '../ports/observer.ts';
import { clientAddresses, createTrust, readAddressList } from './access.ts';
import type { Allowance } from './admission/allowance.ts';
import { Admission } from './admission/admission.ts';
import { clientKey } from './admission/client-address.ts';
import { admissionLimitsOf } from './admission/limits.ts';
import { createResponseCache } from './response-cache.ts';
import { fixedCorsHeaders } from './cors-headers.ts';
import { isDashboardPath, serveDashboard } from './dashboard.ts';
import type { HttpDialect } from './dialect.ts';
import { createEventHub } from './events/hub.ts';
import { createSharedReplays } from './events/replays.ts';
import { createListeners } from './listeners.ts';
import type { ListeningSockets } from './listening-socket.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './options.ts';
import { createApp } from './express-app.ts';
import { createRateLimit } from './rate-limit.ts';
import { createSharedRateLimit } from './shared-rate-limit.ts';
import { createRequestChecks, type Expectation } from './request-checks.ts';
import { RequestPipeline } from './request-pipeline.ts';
import { openApiDocs } from './api-docs.ts';
import { HeightWaiters } from './read-consistency.ts';
import { createFastPath } from './fast-path.ts';

export interface HttpServer {
  /**
   * Opens the listeners.
   *
   * @returns the ports on which the server listens; if a configured port is 0, the system has chosen the port
   * @throws ProtocolError `PORT_IN_USE` with `port`, or `LISTEN_FAILED` with `address`, `port` and `reason`
   */
  start(): Promise<{ readonly port: number; readonly tlsPort?: number }>;
  /**
   * Returns the listening sockets, so that other processes can accept connections from these sockets. Throws before
   * `start`.
   */
  sockets(): ListeningSockets;
  /**
   * Stops accepting connections. An open connection ends after the answer to its next request, or when the time limit
   * for idle connections is reached. Resolves when all connections are closed, or after ten seconds.
   */
  drain(): Promise<void>;
  /** Refuses new connections, gives running answers half a second to finish, and then closes all connections. */
  close(): Promise<void>;
  /** Number of requests whose head the server has read since its creation, including refused requests. */
  requestCount(): number;
}

/**
 * @param options options that differ from `HTTP_DEFAULTS`
 * @throws ProtocolError `TLS_INVALID` when the TLS key or certificate is invalid, or when they do not belong together
 */
export function createHttpServer(
  api: NodeApi,
  options: Partial<HttpOptions> = {},
  clock: MonotonicClock = MONOTONIC_CLOCK,
): HttpServer {
  const settings: HttpOptions = { ...HTTP_DEFAULTS, ...options };
  const { limits, observer } = settings;
  const dialect: HttpDialect = { generation: api.params.generation, strict: settings.strictDialect };
  const isTrusted = createTrust(settings);
  const admission = new Admission({
    clock,
    limits: admissionLimitsOf(limits),
    observer,
    isTrusted,
    workShare: settings.workShare,
    shared: settings.shared,
    refusalHeaders: fixedCorsHeaders(settings.cors.origin),
  });
  const limit =
    settings.shared === undefined
      ? createRateLimit(limits, { clock, isTrusted })
      : createSharedRateLimit(limits, settings.shared, clock);
  const dashboard =
    settings.dashboardDirectory === undefined
      ? undefined
      : serveDashboard(settings.dashboardDirectory, settings.devnet !== undefined);
  const apiDocs = settings.apiDocsDirectory === undefined ? undefined : openApiDocs(settings.apiDocsDirectory);
  const hasPages = dashboard !== undefined || apiDocs !== undefined;
  const isOtherPath = (path: string): boolean => hasPages && isDashboardPath(path);
  const checks = createRequestChecks(settings, { admission, dialect, limit, isOtherPath });

  // The strict dialect answers like a lisk-sdk node. Such a node has no event stream, so the event stream always uses
  // the extended dialect, which has additional names.
  const streamDialect = { ...dialect, strict: false };
  const replays = settings.shared && createSharedReplays(settings.shared);
  const { scheduler } = admission;
  const hub = createEventHub(api, streamDialect, { ...settings.events, observer, scheduler, replays });
  const responseCache = createResponseCache(api, settings.cacheResponses);
  const waiters = new HeightWaiters(api, clock, limits.socketTimeoutMs);
  const allowances = new WeakMap<IncomingMessage, Allowance>();
  const app = createApp(api, settings, {
    dialect,
    hub,
    allowances,
    responseCache,
    dashboard,
    apiDocs,
    clientOf: (request) => {
      const [client = ''] = clientAddresses(request, settings.trustProxy);
      const isOfReserve = admission.of(request.socket)?.isTrusted === true;
      return { key: clientKey(client), isTrusted: isOfReserve && (!settings.trustProxy || isTrusted(client)) };
    },
  });

  const pipeline = new RequestPipeline({
    ...{ settings, dialect, admission, isTrusted, checks, waiters },
    tryFastPath: createFastPath(api, settings, { dialect, responseCache }),
    answer: (request, response, allowance) => {
      allowances.set(request, allowance);
      void app(request, response);
    },
  });
  const parser = createParser((...request) => pipeline.receive(...request));
  parser.setTimeout(limits.socketTimeoutMs);
  if (limits.keepAliveTimeoutMs !== undefined) parser.keepAliveTimeout = limits.keepAliveTimeoutMs;

  const listed = readAddressList(settings.access.whiteList, SILENT);
  const { enabled, trustProxy, access } = settings;
  const mayAsk = (address: string): boolean => !enabled || trustProxy || access.public || listed.includes(address);
  const listeners = createListeners(parser, admission, mayAsk, settings);
  return {
    requestCount: () => pipeline.requestCount,
    drain: () => {
      pipeline.drain();
      return listeners.drain();
    },
    start: () => listeners.open(),
    sockets: () => listeners.sockets(),
    close: () => {
      waiters.close();
      hub.close();
      return listeners.close();
    },
  };
}

/**
 * Creates the server of node:http that parses requests. This server does not listen: it gets accepted connections from
 * the listeners. By default, node:http refuses requests without `Host`, or with an unknown `Expect`. In this server,
 * such requests go through the same checks as all other requests, so that the limits also count such requests. A
 * request with an `Upgrade` header gets the same answer as a request without this header.
 */
function createParser(
  receive: (request: IncomingMessage, response: ServerResponse, expectation?: Expectation) => void,
): Server {
  const parser = createServer({ requireHostHeader: false }, (request, response) => receive(request, response));
  parser.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
    receive(request, response, 'continue'),
  );
  parser.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    receive(request, response, 'unknown'),
  );
  return parser;
}
