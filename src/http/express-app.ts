/**
 * The Express application: the slow path of a request after its admission (`request-checks.ts`). A request passes these
 * steps in this order:
 *
 * 1. method from the header `X-HTTP-Method-Override`
 * 2. security headers
 * 3. files of the dashboard and of the API documentation
 * 4. search for the routes of the path
 * 5. check of the method
 * 6. headers and delay of the rate limit
 * 7. CORS
 * 8. compression
 * 9. parsing of the body
 * 10. check of parameters and body
 * 11. access rule of the route
 * 12. handler of the route
 *
 * The client gets the refusal of the first step that refuses the request.
 */

import type { Socket } from 'node:net';
import compression from 'compression';
import cors from 'cors';
import express, {
  Router,
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { messageOf } from '../primitives/errors.ts';
import type { NodeApi } from '../ports/node-api.ts';
import { guardRoutes, type RouteGuard } from './access.ts';
import { BODY_BYTES_MAX, BODY_LEVELS_MAX } from './admission/limits.ts';
import type { ResponseCache } from './response-cache.ts';
import { createCorsHeaders } from './cors-headers.ts';
import type { HttpDialect } from './dialect.ts';
import { askHandler, createCurrentVersion, unchangedSince } from './envelope.ts';
import type { EventClient, EventHub } from './events/hub.ts';
import type { HttpOptions } from './options.ts';
import { heightAhead, internalError, malformedBody, pageNotFound, Problem, problemOf } from './problems.ts';
import { parseQuery, queryTextOf } from './query.ts';
import { EXPOSED_HEADERS, RETRY_AFTER_S } from './read-consistency.ts';
import type { ApiDocs } from './api-docs.ts';
import { methodOf } from './request-checks.ts';
import { sendRate, type Allowances } from './rate-limit.ts';
import { pathBelow, served } from './route-table.ts';
import {
  checkRequest,
  ignoredIn,
  type CheckedRequest,
  type RawRequest,
  type Route,
  type StreamRoute,
} from './route.ts';
import { allRoutes } from './routes/all.ts';

/**
 * The only path on which a body is allowed to be a form (`application/x-www-form-urlencoded`). The oldest clients of
 * Lisk send forms to this path.
 */
const FORM_PATH = '/signatures';

/** Parts of the HTTP server that the Express application uses. */
export interface AppParts {
  readonly dialect: HttpDialect;
  readonly hub: EventHub;
  readonly allowances: Allowances;
  readonly responseCache: ResponseCache;
  readonly dashboard: RequestHandler | undefined;
  readonly apiDocs: ApiDocs | undefined;
  /** Returns the client that opens an event stream. */
  readonly clientOf: (request: Request) => EventClient;
}

export function createApp(api: NodeApi, options: HttpOptions, parts: AppParts): Express {
  const { dialect } = parts;
  // Only the routes of generation 3 distinguish upper and lower case.
  const caseSensitive = dialect.generation === 3;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', options.trustProxy);
  app.set('case sensitive routing', caseSensitive);
  app.use(overrideMethod);
  app.use(setSecurityHeaders);
  if (parts.dashboard !== undefined) app.use(parts.dashboard);
  if (parts.apiDocs !== undefined) app.use(parts.apiDocs.serveFiles);
  app.use(setCorsHeaders(options));
  app.use(createRouter(api, options, parts, caseSensitive));
  app.use(() => {
    throw pageNotFound();
  });
  app.use(answerError(options, dialect, JSON_WITH_CHARSET));
  return app;
}

function createRouter(api: NodeApi, options: HttpOptions, parts: AppParts, caseSensitive: boolean): Router {
  const router = Router({ caseSensitive });
  const guard = guardRoutes(options);
  const behindRoute = [
    sendRate(parts.allowances, parts.dialect.strict),
    cors({ origin: options.cors.origin, methods: [...options.cors.methods], exposedHeaders: EXPOSED_HEADERS }),
    // Event streams are not compressed, because a compressor would delay data that a stream must send immediately.
    compression({
      level: 9,
      threshold: 1024,
      filter: (request, response) => !isStream(response) && compression.filter(request, response),
    }),
  ];
  const routeOptions = parts.apiDocs === undefined ? options : { ...options, apiDocsPage: parts.apiDocs.page };
  for (const { prefixes, dialect } of served(parts.dialect)) {
    for (const [path, routes] of byPath(allRoutes(dialect, routeOptions))) addRoutes(prefixes, path, routes, dialect);
  }
  return router;

  function addRoutes(prefixes: readonly string[], path: string, routes: readonly Route[], dialect: HttpDialect): void {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const places = prefixes.map((prefix) => pathBelow(prefix, pattern)).filter((place) => place !== '');
    if (places.length === 0) return;
    const run = runRoute(routes, api, guard, { ...parts, dialect });
    router.all(
      places,
      measureAnswers(path, options),
      refuseOtherMethods(routes, dialect.strict),
      ...behindRoute,
      ...bodyParsers(path, routes),
      run,
      answerError(options, dialect, PLAIN_JSON),
    );
  }
}

/**
 * Returns the body parsers of a path; an empty list if no route of the path takes a body. The body parsers refuse
 * compressed bodies, because a few bytes can decompress to megabytes. They also refuse bodies with more levels than
 * `BODY_LEVELS_MAX`.
 */
function bodyParsers(path: string, routes: readonly Route[]): readonly RequestHandler[] {
  const withBody = new Set(routes.filter(({ body }) => body !== undefined).map(({ method }) => method as string));
  if (withBody.size === 0) return [];
  const limits = { limit: BODY_BYTES_MAX, inflate: false };
  const parsers = [
    express.json({ ...limits, strict: true }),
    ...(path === FORM_PATH ? [express.urlencoded({ ...limits, extended: false })] : []),
  ];
  return parsers.map((read): RequestHandler => (request, response, next) => {
    const finish = (error?: unknown): void => next(error ?? refusalOfLevels(request.body));
    if (withBody.has(request.method)) whileReadable(request.socket, () => read(request, response, finish));
    else next();
  });
}

function refusalOfLevels(body: unknown): Problem | undefined {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  let open = [body].filter(isObject);
  for (let levels = 0; open.length > 0; levels += 1) {
    if (levels === BODY_LEVELS_MAX) return malformedBody(`the body has more than ${BODY_LEVELS_MAX} levels`);
    open = open.flatMap((each) => Object.values(each) as unknown[]).filter(isObject);
  }
  return undefined;
}

/**
 * Calls `work`, and marks the socket as readable during this call. The mark is needed, because the body parsers use the
 * package on-finished. If a client has ended its side of the connection, and the socket is not marked, on-finished
 * wrongly reports that the body of the request was already read.
 */
function whileReadable(socket: Socket, work: () => void): void {
  Object.defineProperty(socket, 'readable', { value: true, configurable: true });
  try {
    work();
  } finally {
    Reflect.deleteProperty(socket, 'readable');
  }
}

function byPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
}

function runRoute(routes: readonly Route[], api: NodeApi, guard: RouteGuard, parts: AppParts): RequestHandler {
  const currentVersion = createCurrentVersion(api);
  return async (request, response) => {
    const route = routeFor(request.method, routes, parts.dialect.strict);
    // At this point, `route` is undefined only for a preflight request (OPTIONS). The CORS step answers preflight
    // requests, unless CORS is disabled.
    if (route === undefined) throw methodNotAllowed();
    const raw = rawRequestOf(request);
    const checked = checkRequest(route, raw);
    const ignored = ignoredIn(route, raw.query);
    if (ignored.length > 0) response.setHeader('X-Ignored-Parameters', ignoredText(ignored));
    guard.check(route, request);
    if (route.kind === 'stream') {
      await openStream(route, checked, request, response, guard, parts);
    } else if (route.kind === 'plain') {
      const { status, body, headers = {} } = await route.respond(api, checked);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      send(response, status, body, route.contentType);
    } else {
      const version = currentVersion(route.isOfChain === true);
      // The position headers name the block whose state the answer shows. These headers are set before the handler
      // runs, because a refusal by the handler (such as 404) must also have these headers.
      setHeaders(response, currentVersion(false).headers);
      const answer =
        unchangedSince(version, request.headers['if-none-match']) ?? (await askHandler(api, route, checked, version));
      setHeaders(response, answer.version.headers);
      if (answer.body === undefined) return void response.status(304).end();
      sendBytes(response, 200, answer.body, PLAIN_JSON);
      // The response cache stores only bodies. The answer is therefore not stored if it has the header
      // `X-Ignored-Parameters`.
      if (answer.version.etag !== undefined && ignored.length === 0)
        parts.responseCache.store(request.originalUrl, answer.body);
    }
  };
}

/** @param headers the name of the first header, its value, the name of the second header, and so on */
function setHeaders(response: Response, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
}

/**
 * Maximum length of the header `X-Ignored-Parameters`, in characters. A proxy in front of the node refuses an answer
 * with very long headers, and can take the node for broken.
 */
const IGNORED_CHARS_MAX = 1_000;

/** Names the ignored parameters, as many as the header has room for. An ellipsis stands for the others. */
function ignoredText(names: readonly string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    const text = headerText(name);
    length += text.length + 2;
    if (length > IGNORED_CHARS_MAX) return [...shown, '...'].join(', ');
    shown.push(text);
  }
  return shown.join(', ');
}

/**
 * Returns the form of a parameter's name for the header `X-Ignored-Parameters`: the percent-encoded name, or two
 * quotation marks if the name is empty.
 */
function headerText(name: string): string {
  return name === '' ? '""' : encodeURIComponent(name);
}

const STREAM_TYPE = 'text/event-stream';

function isStream(response: Response): boolean {
  return response.getHeader('Content-Type') === STREAM_TYPE;
}

async function openStream(
  route: StreamRoute,
  checked: CheckedRequest,
  request: Request,
  response: Response,
  guard: RouteGuard,
  { hub, clientOf }: AppParts,
): Promise<void> {
  const { after, fromHeight, filter } = route.subscriptionOf(checked, request.get('Last-Event-ID'));
  const wanted = { ...filter, maySeeForging: guard.maySeeForging(request) };
  const from = fromHeight === undefined ? after : hub.placeAt(fromHeight, filter.finality);
  if (fromHeight !== undefined && from === undefined) throw heightAhead(fromHeight, filter.finality);
  const isAdded = await hub.add(response, wanted, from, clientOf(request));
  if (!isAdded) throw new Problem(503, { message: 'The node serves the maximum number of event subscribers' });
  response.status(200);
  response.setHeader('Content-Type', STREAM_TYPE);
  response.setHeader('Cache-Control', 'no-store');
  // Common proxies buffer streams unless this header is set.
  response.setHeader('X-Accel-Buffering', 'no');
  // The socket of a stream has no timeout, because the interval of the heartbeats (`heartbeatMs`) can be longer than
  // the socket timeout. Instead, the hub closes a stream when its subscriber takes no data.
  request.socket.setTimeout(0);
  response.flushHeaders();
  // If a client ends its side of the connection, the client has left. A stream that waits for new events therefore ends
  // when the client does so.
  if (filter.endsWithLog === true) return;
  const close = (): void => void response.destroy();
  if (request.socket.readableEnded) close();
  else request.socket.once('end', close);
}

/**
 * Measures how long the answers of a route take. Does not measure event streams, because an event stream lasts until
 * the subscriber disconnects.
 */
function measureAnswers(route: string, { observer }: HttpOptions): RequestHandler {
  return (request, response, next) => {
    const startedMs = performance.now();
    response.once('finish', () => {
      if (isStream(response)) return;
      const labels = {
        route,
        method: methodLabel(request.method),
        status: `${Math.floor(response.statusCode / 100)}xx`,
      };
      observer.observe('http_request_duration_seconds', (performance.now() - startedMs) / 1000, labels);
    });
    next();
  };
}

/**
 * HTTP methods that have their own labels in the metrics. All other methods share the label `other`. Otherwise, clients
 * could use up the maximum number of metric series with unusual methods.
 */
const LABELLED_METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS']);

function methodLabel(method: string): string {
  return LABELLED_METHODS.has(method) ? method : 'other';
}

function rawRequestOf(request: Request): RawRequest {
  return {
    query: parseQuery(queryTextOf(request.url)),
    path: request.params as Readonly<Record<string, string>>,
    body: request.body as unknown,
    contentType: mediaTypeOf(request.headers['content-type']),
    client: request.ip,
  };
}

function mediaTypeOf(header: string | undefined): string | undefined {
  return header ? header.split(';')[0]?.trim().toLowerCase() : undefined;
}

function refuseOtherMethods(routes: readonly Route[], isStrict: boolean): RequestHandler {
  // As in recorded answers of lisk-sdk nodes, the header `Allow` does not name HEAD.
  const allowed = routes.map(({ method }) => method);
  return (request, response, next) => {
    if (request.method === 'OPTIONS' || routeFor(request.method, routes, isStrict) !== undefined) return next();
    response.setHeader('Allow', allowed.join(', '));
    throw methodNotAllowed();
  };
}

/**
 * Finds the route for a method. Nodes of lisk-sdk refuse HEAD. On this node, the answer to HEAD depends on the kind of
 * the GET route:
 * - Event streams refuse HEAD, because most streams have no end.
 * - Routes of kind `plain` answer HEAD.
 * - All other GET routes answer HEAD if `isStrict` is false, because monitors and load balancers use HEAD. If
 *   `isStrict` is true, these routes refuse HEAD.
 */
function routeFor(asked: string, routes: readonly Route[], isStrict: boolean): Route | undefined {
  const takesHead = ({ kind }: Route) => kind === 'plain' || (kind !== 'stream' && !isStrict);
  const isFor = (route: Route) =>
    route.method === asked || (asked === 'HEAD' && route.method === 'GET' && takesHead(route));
  return routes.find(isFor);
}

function methodNotAllowed(): Problem {
  return new Problem(405, { message: 'Method not allowed' });
}

/** Replaces POST by the method in `X-HTTP-Method-Override`. Clients that cannot send PUT need this header. */
function overrideMethod(request: Request, response: Response, next: NextFunction): void {
  if (request.method === 'POST') {
    response.vary('X-HTTP-Method-Override');
    request.method = methodOf(request);
  }
  next();
}

function setSecurityHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Frame-Options', 'DENY');
  response.setHeader('Content-Security-Policy', "frame-ancestors 'none'");
  next();
}

/** Sets the CORS headers of refusals that come before the CORS step of the route, such as 405. */
function setCorsHeaders(options: HttpOptions): RequestHandler {
  const corsHeaders = createCorsHeaders(options);
  return (request, response, next) => {
    const varied = response.get('Vary');
    setHeaders(response, corsHeaders(request));
    if (varied !== undefined) response.vary(varied);
    next();
  };
}

/**
 * Sends errors as answers.
 *
 * @param contentType content type of the answer: JSON without a charset on a path that has a route, as clients of Lisk
 *   expect; JSON with a charset on all other paths. Independently of this argument, the answer to an error in reading a
 *   request (`problemOfReading`) always has JSON with a charset
 */
function answerError(options: HttpOptions, dialect: HttpDialect, contentType: string): ErrorRequestHandler {
  return (error: unknown, request, response, next: NextFunction) => {
    if (response.headersSent) return next(error);
    const problem = problemOf(error, dialect.generation);
    const isTemporary = problem?.status === 503 || problem?.status === 429;
    if (isTemporary) response.setHeader('Retry-After', RETRY_AFTER_S);
    if (problem !== undefined) return void send(response, problem.status, problem.body, contentType);
    const ofReading = problemOfReading(error, request);
    const { status, body } = ofReading ?? failure(error, request, options);
    send(response, status, body, ofReading === undefined ? contentType : JSON_WITH_CHARSET);
  };
}

const PLAIN_JSON = 'application/json';
const JSON_WITH_CHARSET = 'application/json; charset=utf-8';

/** Returns the refusal for an error that a client caused in Express or in a body parser; undefined for other errors. */
function problemOfReading(error: unknown, request: Request): Problem | undefined {
  if (!(error instanceof Error)) return undefined;
  // A path that cannot be decoded counts as a path that does not exist.
  if (error instanceof URIError) return pageNotFound();
  const { type, status } = error as { type?: unknown; status?: unknown };
  // The parser's error message quotes the body. On paths that contain `/signatures`, the body can contain a passphrase,
  // so the refusal has a fixed text instead.
  const detail = request.path.toLowerCase().includes('/signatures') ? 'the body is not JSON' : error.message;
  if (type === 'entity.parse.failed') return malformedBody(`SyntaxError: ${detail}`);
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  const sentence = `API error: ${error.name}: ${error.message}`;
  return new Problem(status, { success: false, error: sentence, message: sentence });
}

function failure(error: unknown, request: Request, options: HttpOptions): Problem {
  const path = request.path;
  const { method } = request;
  options.observer.log('error', 'HTTP_REQUEST_FAILED', 'A request could not be answered', {
    method,
    path,
    error: messageOf(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return internalError();
}

function send(response: Response, status: number, body: unknown, contentType: string): void {
  sendBytes(response, status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8'), contentType);
}

function sendBytes(response: Response, status: number, bytes: Buffer, contentType: string): void {
  response.status(status);
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
