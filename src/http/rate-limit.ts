/** Counters of requests, one per client address and one for all, shared by all routes and reset at the end of each window. */

import type { Request, RequestHandler, Response } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import { isLoopback } from './access.ts';
import type { HttpLimits } from './options.ts';

export interface RateLimit {
  /** Counts a request. */
  take(client: string | undefined): Allowance;
  /** What the next request would be told. */
  peek(client: string | undefined): Allowance;
}

export interface Allowance {
  /** Requests that the client may make in a window; 0 for any number. */
  readonly max: number;
  readonly remaining: number;
  readonly isRefused: boolean;
  readonly delayMs: number;
}

/** Addresses counted at once: the least recent is forgotten beyond, so a flood of addresses cannot fill the memory. */
export const CLIENTS_MAX = 20_000;
const TOO_MANY = 'Too many requests, please try again later.';
/** No request is held longer than this: what waits costs memory. */
const DELAY_MAX_MS = 60_000;

export function createRateLimit(limits: HttpLimits): RateLimit {
  const counts = new LruMap<string, number>(CLIENTS_MAX);
  let strangers = 0;
  let windowEndsMs = 0;
  const look = (client: string, by: 0 | 1): Allowance => {
    const nowMs = Date.now();
    if (nowMs >= windowEndsMs) {
      counts.clear();
      strangers = 0;
      windowEndsMs = nowMs + limits.windowMs;
    }
    const count = (counts.get(client) ?? 0) + 1;
    const isStranger = !isLoopback(client);
    const inAll = strangers + (isStranger ? 1 : 0);
    if (by === 1) {
      counts.set(client, count);
      strangers = inAll;
    }
    const max = limits.max === 0 && isStranger ? limits.strangerMax : limits.max;
    const isTooMuchInAll = isStranger && limits.strangersTotalMax > 0 && inAll > limits.strangersTotalMax;
    const delayed = limits.delayAfter > 0 ? Math.max(0, count - limits.delayAfter) : 0;
    return {
      max,
      remaining: Math.max(0, max - count),
      isRefused: isTooMuchInAll || (max > 0 && count > max),
      delayMs: Math.min(delayed * limits.delayMs, DELAY_MAX_MS),
    };
  };
  return { take: (client = '') => look(client, 1), peek: (client = '') => look(client, 0) };
}

/** Counts, refuses with 429 past the limit, and delays where told. Tells limit and rest in headers, also when off. */
export function limitRate(limit: RateLimit): RequestHandler {
  return (request, response, next) => {
    const { max, remaining, isRefused, delayMs } = limit.take(request.ip);
    response.setHeader('X-RateLimit-Limit', max);
    response.setHeader('X-RateLimit-Remaining', remaining);
    if (isRefused) return refuse(request, response);
    if (delayMs === 0) next();
    else setTimeout(next, delayMs);
  };
}

function refuse(request: Request, response: Response): void {
  response.status(429);
  if (request.accepts(['html', 'json']) === 'json') response.json({ message: TOO_MANY });
  else response.type('html').send(TOO_MANY);
}
