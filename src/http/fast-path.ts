/**
 * Answers the most frequent requests in one function, without Express. The fast path calls the handler of a route only
 * if the route meets four conditions: it is a GET route, its answers have an envelope (`envelope.ts`), it has no access
 * rule of its own (`access`), and its path has no parameters. From the response cache, the fast path also sends answers
 * of routes with parameters in the path. The fast path sends only answers with status 200 or 304. These answers are
 * equal to the answers of the slow path. If the fast path cannot answer a request in this way, the request takes the
 * slow path (Express), which checks the request again. Examples are a request with a method other than GET, a request
 * with a body, and a request that the route refuses.
 *
 * The fast path searches two caches before it calls a handler:
 *
 * ```
 * fast path -> response cache -> tick cache -> handler of the route
 *     |                                             |
 *     | (for example another method, or a body)     | (refusal, failure)
 *     v                                             v
 * slow path: Express application -> handler of the route
 * ```
 *
 * The response cache contains answers that depend only on the request and the chain (with one exception, `receivedAt`:
 * see `EnvelopeRoute.isOfChain`). The fast path uses an answer from this cache until the chain changes. The slow path
 * also adds answers to the response cache. The tick cache contains answers that depend on more than the request and the
 * chain. The fast path uses an answer from the tick cache until the present iteration of the event loop ends. If the
 * client accepts gzip, the fast path answers only from the response cache. All other answers for this client come from
 * the slow path, which compresses answers of at least 1,024 bytes.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NodeApi } from '../ports/node-api.ts';
import type { Allowance } from './admission/allowance.ts';
import type { ResponseCache } from './response-cache.ts';
import type { HttpDialect } from './dialect.ts';
import { askHandler, createCurrentVersion, type EnvelopeAnswer, unchangedSince } from './envelope.ts';
import type { HttpOptions } from './options.ts';
import { parseQuery, queryTextOf } from './query.ts';
import { rateHeaders } from './rate-limit.ts';
import { EXPOSED_HEADERS } from './read-consistency.ts';
import { bringsBody } from './admission/request-gate.ts';
import { checkRequest, ignoredIn, type CheckedRequest, type EnvelopeRoute } from './route.ts';
import { pathBelow, served } from './route-table.ts';
import { allRoutes } from './routes/all.ts';

/**
 * Answers a request if this is possible without the Express application (the slow path). The comment at the start of
 * this file describes the requests for which this is possible.
 *
 * @param allowance decision of the rate limit about the request
 * @param takeSlowPath sends the request to the slow path; called if the handler has returned a promise that rejects
 * @returns false when the request must take the slow path; the function has then sent nothing
 */
export type FastPath = (
  request: IncomingMessage,
  response: ServerResponse,
  allowance: Allowance,
  takeSlowPath: () => void,
) => boolean;

export interface FastPathParts {
  readonly dialect: HttpDialect;
  readonly responseCache: ResponseCache;
}

export function createFastPath(
  api: NodeApi,
  options: HttpOptions,
  { dialect, responseCache }: FastPathParts,
): FastPath {
  const { origin } = options.cors;
  // The fast path can only send a fixed CORS origin, and cannot delay an answer. If `cors.origin` is a boolean, or if
  // `delayAfter` is above 0, all requests therefore take the slow path (Express).
  const isEnabled = typeof origin === 'string' && options.limits.delayAfter === 0;
  const routes = routesByPath(dialect, options);
  const currentVersion = createCurrentVersion(api);
  const fixed = fixedHeaders(origin);
  /**
   * Answers of the present iteration of the event loop. Equal requests in one iteration get the same answer, unless the
   * chain changes within the iteration.
   */
  const tickCache = new Map<string, EnvelopeAnswer>();

  /** @param isCompressed true when the body is compressed with gzip */
  const send = (response: ServerResponse, allowance: Allowance, answer: EnvelopeAnswer, isCompressed = false): void => {
    const { body, version } = answer;
    const headers = [...rateHeaders(allowance, dialect.strict), ...version.headers];
    if (body === undefined) {
      response.writeHead(304, [...fixed, ...headers]);
      response.end();
      return;
    }
    const encoding = isCompressed ? ['Content-Encoding', 'gzip'] : [];
    const length = ['Content-Length', String(body.length)];
    response.writeHead(200, [...fixed, 'Content-Type', 'application/json', ...headers, ...encoding, ...length]);
    response.end(body);
  };

  const answerFromRoute = (
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    takeSlowPath: () => void,
  ): boolean => {
    const { url: target = '', headers } = request;
    const cached = tickCache.get(target);
    if (cached !== undefined && cached.version.position?.id === api.chain.tip()?.id) {
      options.observer.count('http_cache_hits_total');
      send(response, allowance, cached);
      return true;
    }
    const end = target.indexOf('?');
    const route = routes.get(end < 0 ? target : target.slice(0, end));
    const checked = route && checkedBy(route, target);
    if (route === undefined || checked === undefined) return false;
    const startedMs = performance.now();
    const version = currentVersion(route.isOfChain === true);
    const unchanged = unchangedSince(version, headers['if-none-match']);
    if (unchanged !== undefined) {
      send(response, allowance, unchanged);
      return true;
    }
    const finish = (result: EnvelopeAnswer): void => {
      if (route.isOfChain !== true) {
        if (tickCache.size === 0) setImmediate(() => tickCache.clear());
        tickCache.set(target, result);
      } else if (result.version.etag !== undefined && result.body !== undefined)
        responseCache.store(target, result.body);
      send(response, allowance, result);
      const labels = { route: route.path, method: 'GET', status: '2xx' };
      options.observer.observe('http_request_duration_seconds', (performance.now() - startedMs) / 1000, labels);
    };
    try {
      const result = askHandler(api, route, checked, version);
      if (result instanceof Promise) result.then(finish).catch(() => response.headersSent || takeSlowPath());
      else finish(result);
    } catch {
      // The route refused the request, or failed. The slow path (Express) calls the handler again and sends the error.
      return false;
    }
    return true;
  };

  return (request, response, allowance, takeSlowPath) => {
    if (!isEnabled || request.method !== 'GET' || bringsBody(request)) return false;
    const { url: target = '' } = request;
    const encoding = request.headers['accept-encoding'];
    const acceptsGzip = encoding !== undefined && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(encoding);
    // If the client does not accept gzip, the fast path answers only if `Accept-Encoding` is absent or `identity`. If
    // the header has any other value, for example `br`, the request takes the slow path (Express).
    if (encoding !== undefined && !acceptsGzip && encoding !== 'identity') return false;
    const cached = responseCache.find(target);
    if (cached === undefined) return !acceptsGzip && answerFromRoute(request, response, allowance, takeSlowPath);
    options.observer.count('http_cache_hits_total');
    const version = currentVersion(true);
    const unchanged = unchangedSince(version, request.headers['if-none-match']);
    const gzipped = acceptsGzip && unchanged === undefined ? cached.gzipped() : undefined;
    send(response, allowance, unchanged ?? { body: gzipped ?? cached.plain, version }, gzipped !== undefined);
    return true;
  };
}

/**
 * Returns the routes whose handlers the fast path (which answers without Express) can call. The comment at the start of
 * this file states the conditions for such routes. The keys are the paths of requests, with and without the prefix
 * `/api`.
 */
function routesByPath(dialect: HttpDialect, options: HttpOptions): ReadonlyMap<string, EnvelopeRoute> {
  const routes = new Map<string, EnvelopeRoute>();
  for (const { prefixes, dialect: dialectOfPrefixes } of served(dialect)) {
    for (const route of allRoutes(dialectOfPrefixes, options)) {
      const isPlain = route.kind === 'plain' || route.kind === 'stream' || route.path.includes('{');
      if (isPlain || route.method !== 'GET' || route.access !== undefined) continue;
      for (const prefix of prefixes) {
        const path = pathBelow(prefix, route.path);
        if (path !== '') routes.set(path, route);
      }
    }
  }
  return routes;
}

function checkedBy(route: EnvelopeRoute, target: string): CheckedRequest | undefined {
  try {
    const query = parseQuery(queryTextOf(target));
    // A request with ignored parameters takes the slow path (Express). The slow path lists these parameters in a header
    // of the answer.
    if (ignoredIn(route, query).length > 0) return undefined;
    return checkRequest(route, { query, path: {}, body: undefined, contentType: undefined });
  } catch {
    // A request with an invalid parameter takes the slow path (Express), which reports the parameter in the answer.
    return undefined;
  }
}

function fixedHeaders(origin: unknown): readonly string[] {
  return [
    'X-Frame-Options',
    'DENY',
    'Content-Security-Policy',
    "frame-ancestors 'none'",
    'Access-Control-Allow-Origin',
    String(origin),
    'Vary',
    origin === '*' ? 'Accept-Encoding' : 'Origin, Accept-Encoding',
    'Access-Control-Expose-Headers',
    EXPOSED_HEADERS.join(','),
  ];
}
