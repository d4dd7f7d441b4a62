/** One counter per client address, shared by all routes and reset for everybody at the end of each window. */

import type { Request, RequestHandler, Response } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import type { HttpLimits } from './options.ts';

/** Addresses counted at once: the least recent is forgotten beyond, so a flood of addresses cannot fill the memory. */
const CLIENTS_MAX = 20_000;
const TOO_MANY = 'Too many requests, please try again later.';

/** Counts, refuses with 429 past `max`, and delays past `delayAfter`. Tells limit and rest in headers, also when off. */
export function limitRate(limits: HttpLimits): RequestHandler {
  const counts = new LruMap<string, number>(CLIENTS_MAX);
  let windowEndsMs = 0;
  return (request, response, next) => {
    const nowMs = Date.now();
    if (nowMs >= windowEndsMs) {
      counts.clear();
      windowEndsMs = nowMs + limits.windowMs;
    }
    const client = request.ip ?? '';
    const count = (counts.get(client) ?? 0) + 1;
    counts.set(client, count);
    response.setHeader('X-RateLimit-Limit', limits.max);
    response.setHeader('X-RateLimit-Remaining', Math.max(0, limits.max - count));
    if (limits.max > 0 && count > limits.max) return refuse(request, response);
    const delayed = limits.delayAfter > 0 ? Math.max(0, count - limits.delayAfter) : 0;
    const delayMs = Math.min(delayed * limits.delayMs, DELAY_MAX_MS);
    if (delayMs === 0) next();
    else setTimeout(next, delayMs);
  };
}

/** No request is held longer than this: what waits costs memory. */
const DELAY_MAX_MS = 60_000;

function refuse(request: Request, response: Response): void {
  response.status(429);
  if (request.accepts(['html', 'json']) === 'json') response.json({ message: TOO_MANY });
  else response.type('html').send(TOO_MANY);
}
