/**
 * Makes the CORS headers of refusals. With these headers, a page of another site can read the refusal, for example its
 * status and the time in `Retry-After`. Without these headers, a browser reports only a network error to the page. The
 * Express application answers preflight requests itself.
 */

import type { IncomingMessage } from 'node:http';
import type { HttpOptions } from './options.ts';
import { EXPOSED_HEADERS } from './read-consistency.ts';

/** Returns the CORS headers of the answer to a request, as alternating names and values. */
export type CorsHeaders = (request: IncomingMessage) => readonly string[];

export function createCorsHeaders({ cors: { origin } }: Pick<HttpOptions, 'cors'>): CorsHeaders {
  if (origin !== true) {
    const headers = fixedCorsHeaders(origin);
    return () => headers;
  }
  return ({ headers }) => (headers.origin === undefined ? VARY : [...VARY, ...allowing(headers.origin)]);
}

/** Returns the CORS headers, as alternating names and values, of answers to requests that the node does not read. */
export function fixedCorsHeaders(origin: string | boolean): readonly string[] {
  if (typeof origin === 'boolean') return [];
  return origin === '*' ? allowing(origin) : [...VARY, ...allowing(origin)];
}

const VARY = ['Vary', 'Origin'];

function allowing(origin: string): readonly string[] {
  return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS.join(',')];
}
