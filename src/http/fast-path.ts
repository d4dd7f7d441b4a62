/**
 * The fast path of the requests that come most: a GET of a route in the envelope, by somebody who may ask, that gets a
 * 200. It does what the slow path through the application does, in one function and without its machinery. Whatever is not
 * plain (another method, a body, a refusal, an encoding that is made while sending) takes the slow path, which decides alone.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NodeApi } from '../ports/node-api.ts';
import type { Allowance } from './admission/allowance.ts';
import type { ResponseCache } from './response-cache.ts';
import type { HttpDialect } from './dialect.ts';
import type { HttpOptions } from './options.ts';
import { parseQuery, queryTextOf } from './query.ts';
import { rateHeaders } from './rate-limit.ts';
import {
  BLOCK_ID_HEADER,
  etagOf,
  EXPOSED_HEADERS,
  HEIGHT_HEADER,
  isUnchanged,
  placeOf,
  type ReadPlace,
} from './read-place.ts';
import { bringsBody } from './request-checks.ts';
import { checkRequest, ignoredIn, type CheckedRequest, type EnvelopeRoute, type Reply } from './route.ts';
import { pathBelow, served } from './route-table.ts';
import { allRoutes } from './routes/all.ts';

/**
 * @param allowance what the admitted client may ask
 * @returns false when the request has to take the slow path; nothing has been sent then
 */
export type FastPath = (
  request: IncomingMessage,
  response: ServerResponse,
  allowance: Allowance,
  takeSlowPath: () => void,
) => boolean;

export interface FastPathParts {
  readonly dialect: HttpDialect;
  readonly cache: ResponseCache;
}

export function createFastPath(api: NodeApi, options: HttpOptions, { dialect, cache }: FastPathParts): FastPath {
  const { origin } = options.cors;
  // What depends on more of the request than its target and its address takes the slow path.
  const isPossible = typeof origin === 'string' && options.limits.delayAfter === 0;
  const routes = routesByPath(dialect, options);
  const fixed = fixedHeaders(origin);
  /** Answers of this turn of the event loop: all who ask within it are told the same of one moment, until the chain changes in it. */
  const ofTurn = new Map<string, Sent>();

  const send = (response: ServerResponse, allowance: Allowance, { body, place, etag, isPacked }: Sent): void => {
    response.writeHead(200, [
      ...fixed,
      ...rateHeaders(allowance, dialect.strict),
      ...placeHeaders(place, etag),
      ...(isPacked === true ? ['Content-Encoding', 'gzip'] : []),
      'Content-Length',
      String(body.length),
    ]);
    response.end(body);
  };
  const sendUnchanged = (response: ServerResponse, allowance: Allowance, place: ReadPlace, etag: string): void => {
    const untyped = fixed.slice(0, -2);
    response.writeHead(304, [...untyped, ...rateHeaders(allowance, dialect.strict), ...placeHeaders(place, etag)]);
    response.end();
  };

  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    allowance: Allowance,
    takeSlowPath: () => void,
  ): boolean => {
    const { url: target = '', headers } = request;
    const known = ofTurn.get(target);
    if (known !== undefined && known.place?.id === api.chain.tip()?.id) {
      options.observer.count('http_kept_answers_total');
      send(response, allowance, known);
      return true;
    }
    const end = target.indexOf('?');
    const route = routes.get(end < 0 ? target : target.slice(0, end));
    const checked = route && checkedBy(route, target);
    if (route === undefined || checked === undefined) return false;
    const startedMs = performance.now();
    const place = placeOf(api);
    const etag = place === undefined || route.isOfChain !== true ? undefined : etagOf(place, api.identity.build);
    if (place !== undefined && etag !== undefined && isUnchanged(headers['if-none-match'], etag)) {
      sendUnchanged(response, allowance, place, etag);
      return true;
    }
    const finish = ({ meta, data }: Reply): void => {
      const body = Buffer.from(JSON.stringify({ meta, data, links: {} }), 'utf8');
      const isOfOneState = place?.id === api.chain.tip()?.id;
      const sent: Sent = { body, place, etag: isOfOneState ? etag : undefined };
      if (route.isOfChain !== true) {
        if (ofTurn.size === 0) setImmediate(() => ofTurn.clear());
        ofTurn.set(target, sent);
      } else if (isOfOneState) cache.keep(target, body);
      send(response, allowance, sent);
      const labels = { route: route.path, method: 'GET', status: '2xx' };
      options.observer.observe('http_request_duration_seconds', (performance.now() - startedMs) / 1000, labels);
    };
    try {
      const reply = route.handle(api, checked);
      if (reply instanceof Promise) reply.then(finish).catch(() => response.headersSent || takeSlowPath());
      else finish(reply);
    } catch {
      // Refused, or failed: the slow path comes to the same and says it.
      return false;
    }
    return true;
  };

  return (request, response, allowance, takeSlowPath) => {
    if (!isPossible || request.method !== 'GET' || bringsBody(request)) return false;
    const { url: target = '' } = request;
    const encoding = request.headers['accept-encoding'];
    const isPacked = encoding !== undefined && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(encoding);
    // Other encodings are the slow path's business.
    if (encoding !== undefined && !isPacked && encoding !== 'identity') return false;
    const kept = cache.find(target);
    if (kept === undefined) return !isPacked && answer(request, response, allowance, takeSlowPath);
    options.observer.count('http_kept_answers_total');
    // It was kept in the present state.
    const place = placeOf(api);
    const etag = place === undefined ? undefined : etagOf(place, api.identity.build);
    if (place !== undefined && etag !== undefined && isUnchanged(request.headers['if-none-match'], etag)) {
      sendUnchanged(response, allowance, place, etag);
      return true;
    }
    const packed = isPacked ? kept.packed() : undefined;
    send(response, allowance, { body: packed ?? kept.plain, place, etag, isPacked: packed !== undefined });
    return true;
  };
}

interface Sent {
  readonly body: Buffer;
  readonly place: ReadPlace | undefined;
  /** Undefined for an answer that may change without the chain. */
  readonly etag: string | undefined;
  readonly isPacked?: boolean;
}

function placeHeaders(place: ReadPlace | undefined, etag: string | undefined): readonly string[] {
  if (place === undefined) return [];
  const told = [HEIGHT_HEADER, String(place.height), BLOCK_ID_HEADER, place.id];
  return etag === undefined ? told : [...told, 'ETag', etag];
}

/** Routes that everybody may ask who may ask at all, by their paths as clients write them. */
function routesByPath(dialect: HttpDialect, options: HttpOptions): ReadonlyMap<string, EnvelopeRoute> {
  const routes = new Map<string, EnvelopeRoute>();
  for (const { prefixes, dialect: spoken } of served(dialect)) {
    for (const route of allRoutes(spoken, options)) {
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
    // What is ignored is told in a header.
    if (ignoredIn(route, query).length > 0) return undefined;
    return checkRequest(route, { query, path: {}, body: undefined, contentType: undefined });
  } catch {
    // The slow path says what is wrong.
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
    'Content-Type',
    'application/json',
  ];
}
