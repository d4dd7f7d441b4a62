/**
 * The HTTP server of a node: it opens the listeners, answers requests, and closes within a second. Each request passes
 * these steps:
 *
 * 1. `receive` counts the request. If a trusted proxy forwards the request of a stranger (a client that is not
 *    trusted), the request waits for the turn of the stranger in the fair scheduler.
 * 2. `admitClient` checks the access and the request rate of the client, and the head of the request
 *    (`request-checks.ts`).
 * 3. `waitForHeight` delays a read request that contains a minimum height. The request continues when the node has the
 *    block of this height. If the wait takes too long, or if too many requests wait, the node answers with status 503.
 * 4. `dispatch` tries the fast path (`fast-path.ts`). A request that the fast path does not answer takes the slow path:
 *    `admitTarget` checks the path and the headers of the body, and the Express application (`express-app.ts`) answers.
 *
 * Each step either answers the request or calls the next step.
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
import { createCorsHeaders, fixedCorsHeaders } from './cors-headers.ts';
import { isDashboardPath, serveDashboard } from './dashboard.ts';
import type { HttpDialect } from './dialect.ts';
import { createEventHub } from './events/hub.ts';
import { createSharedReplays } from './events/replays.ts';
import { createListeners } from './listeners.ts';
import type { ListeningSockets } from './listening-socket.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './options.ts';
import { createApp } from './express-app.ts';
import { internalError, invalidRequest, parameterError, Problem, problemOf } from './problems.ts';
import { originForm } from './query.ts';
import { createRateLimit } from './rate-limit.ts';
import { createSharedRateLimit } from './shared-rate-limit.ts';
import { createRequestChecks, type Expectation } from './request-checks.ts';
import { openApiDocs } from './api-docs.ts';
import { HeightWaiters, MIN_HEIGHT_PARAMETER, RETRY_AFTER_S, wantedHeight } from './read-consistency.ts';
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

  // A lisk-sdk node has no event stream that the strict dialect could imitate. The stream therefore always uses the
  // extended dialect.
  const streamDialect = { ...dialect, strict: false };
  const replays = settings.shared && createSharedReplays(settings.shared);
  const { scheduler } = admission;
  const hub = createEventHub(api, streamDialect, { ...settings.events, observer, scheduler, replays });
  const responseCache = createResponseCache(api, settings.cacheResponses);
  const waiters = new HeightWaiters(api, clock, limits.socketTimeoutMs);
  const allowances = new WeakMap<IncomingMessage, Allowance>();
  const tryFastPath = createFastPath(api, settings, { dialect, responseCache });
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

  const corsHeaders = createCorsHeaders(settings);
  const answerProblem = (response: ServerResponse, { status, body }: Problem): void => {
    const bytes = Buffer.from(JSON.stringify(body), 'utf8');
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)];
    if (status === 503) headers.push('Retry-After', String(RETRY_AFTER_S));
    response.writeHead(status, [...headers, ...corsHeaders(response.req)]);
    response.end(bytes);
  };

  let requests = 0;
  let isDraining = false;
  const receive = (request: IncomingMessage, response: ServerResponse, expectation?: Expectation): void => {
    requests += 1;
    settings.beforeRequest?.();
    if (isDraining) response.shouldKeepAlive = false;
    request.url = originForm(request.url ?? '/');
    const connection = admission.of(request.socket);
    connection?.begin(request, response);
    const client = strangerBehindProxy(request);
    if (client !== undefined && connection !== undefined) {
      admission.scheduler.take(client, () => {
        connection.contain(() => admitClient(request, response, expectation));
      });
    } else admitClient(request, response, expectation);
  };
  /**
   * Finds the stranger whose request a trusted proxy forwards. The connection of a trusted proxy does not wait for
   * turns. But if the proxy forwards the request of a stranger, this request waits for the turn of the stranger.
   *
   * @returns key of the client in the scheduler; undefined for a request that no trusted proxy forwards, and for a
   *   trusted client
   */
  const strangerBehindProxy = (request: IncomingMessage): string | undefined => {
    if (!settings.trustProxy || admission.of(request.socket)?.isTrusted !== true) return undefined;
    const [client = ''] = clientAddresses(request, true);
    return isTrusted(client) ? undefined : clientKey(client);
  };
  const admitClient = (request: IncomingMessage, response: ServerResponse, expectation?: Expectation): void => {
    const next = (allowance: Allowance): void => waitForHeight(request, response, allowance, expectation);
    const admitted = checks.admitClient(request, response, expectation);
    if (!(admitted instanceof Promise)) {
      if (admitted !== undefined && !response.destroyed) next(admitted);
      return;
    }
    admitted.then(
      (allowance) =>
        continueInTurn(request, () => {
          if (allowance !== undefined && !response.destroyed) next(allowance);
        }),
      (error: unknown) => {
        if (response.destroyed) return;
        // The counting process (which counts the requests of all processes) did not answer in time, or too many limit
        // checks wait for its answers. Therefore this process does not know whether the client is allowed to send this
        // request.
        answerProblem(response, problemOf(error, dialect.generation) ?? internalError());
      },
    );
  };
  /**
   * Continues a request after the counting process (which counts the requests of all processes) has answered the
   * rate-limit check. If the request comes from a stranger, it waits a second time for the stranger's turn in the
   * scheduler.
   */
  const continueInTurn = (request: IncomingMessage, nextStep: () => void): void => {
    const connection = admission.of(request.socket);
    const contained = (): void => (connection === undefined ? nextStep() : connection.contain(nextStep));
    const proxied = strangerBehindProxy(request);
    if (proxied !== undefined) admission.scheduler.take(proxied, contained);
    else if (connection === undefined || connection.isTrusted) contained();
    else admission.scheduler.take(connection.key, contained);
  };
  const waitForHeight = (
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    expectation?: Expectation,
  ): void => {
    const next = (): void => dispatch(request, response, allowance, expectation);
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const { height, target } = wantedHeight(request, dialect);
    if (height === undefined) return next();
    request.url = target;
    if (Number.isNaN(height)) return void answerProblem(response, MIN_HEIGHT_INVALID);
    const isReached = waiters.wait(height);
    if (isReached === true) return next();
    void Promise.resolve(isReached).then((reached) => {
      // The client has possibly closed the connection during the wait.
      if (response.destroyed) return;
      if (reached) return next();
      answerProblem(response, behind(height));
    });
  };
  const dispatch = (
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    expectation?: Expectation,
  ): void => {
    const takeSlowPath = (): void => {
      const target = checks.admitTarget(request, response);
      if (target === undefined) return;
      const runApp = (): void => {
        allowances.set(request, allowance);
        void app(request, response);
      };
      if (!target.takesBody) return runApp();
      // If the request has the header `Expect: 100-continue`, the client waits for the answer `100 Continue` before it
      // sends the body.
      if (expectation === 'continue') response.writeContinue();
      admission.of(request.socket)?.acceptBody(runApp);
    };
    if (!tryFastPath(request, response, allowance, takeSlowPath)) takeSlowPath();
  };
  const parser = createParser(receive);
  parser.setTimeout(limits.socketTimeoutMs);
  if (limits.keepAliveTimeoutMs !== undefined) parser.keepAliveTimeout = limits.keepAliveTimeoutMs;

  const listed = readAddressList(settings.access.whiteList, SILENT);
  const { enabled, trustProxy, access } = settings;
  const mayAsk = (address: string): boolean => !enabled || trustProxy || access.public || listed.includes(address);
  const listeners = createListeners(parser, admission, mayAsk, settings);
  return {
    requestCount: () => requests,
    drain: () => {
      isDraining = true;
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

const MIN_HEIGHT_INVALID = invalidRequest([
  parameterError('query', MIN_HEIGHT_PARAMETER, [], 'It must be a height: an integer from 1'),
]);

function behind(height: number): Problem {
  return new Problem(503, { message: `This node has not reached height ${height} yet` });
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
