/**
 * Limits the rate of HTTP requests. The rate limit counts the requests in each time window. There is one counter for
 * each client address (for IPv6, one counter for each /64 network), and one counter for all strangers together. A
 * stranger is a client on another machine whose address is not trusted (`isTrusted`). Each counter counts the requests
 * for all paths together. The windows follow a monotonic clock, so a change of the machine's clock neither extends nor
 * shortens a window.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import { clientKey, isThisMachine } from './admission/client-address.ts';
import type { Allowance } from './admission/allowance.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import type { HttpLimits } from './options.ts';

export interface RateLimit {
  /**
   * Counts a request.
   *
   * @param cost number that the request adds to the counters; default 1
   */
  take(client: string | undefined, cost?: number): Allowance;
}

/**
 * Maximum number of client addresses with a counter. At this maximum, the rate limit drops the counters of those
 * addresses that sent no request recently (`LruMap`). A flood of addresses therefore cannot fill the memory.
 */
export const CLIENTS_MAX = 20_000;
/** Maximum delay of a request, in milliseconds. The delay has a maximum, because waiting requests occupy memory. */
const DELAY_MAX_MS = 60_000;

export interface RateLimitOptions {
  readonly clock?: Pick<MonotonicClock, 'nowMs'>;
  /**
   * True for an address whose requests do not count towards the common limit of all strangers (clients that are not
   * trusted). A flood of requests from strangers therefore cannot exclude a trusted address.
   */
  readonly isTrusted?: (address: string) => boolean;
}

export function createRateLimit(limits: HttpLimits, options: RateLimitOptions = {}): RateLimit {
  const { clock = MONOTONIC_CLOCK, isTrusted = isThisMachine } = options;
  const counts = new LruMap<string, number>(CLIENTS_MAX);
  let strangers = 0;
  let windowEndsMs = Number.NEGATIVE_INFINITY;
  return {
    take(client = '', cost = 1) {
      const isHere = isThisMachine(client);
      // The client is on this machine, and the options set no limit for such clients, so the request is not counted.
      if (isHere && limits.max === 0 && limits.delayAfter === 0) return UNLIMITED;
      const nowMs = clock.nowMs();
      if (nowMs >= windowEndsMs) {
        counts.clear();
        strangers = 0;
        windowEndsMs = nowMs + limits.windowMs;
      }
      const key = clientKey(client);
      const count = (counts.get(key) ?? 0) + cost;
      counts.set(key, count);
      const max = limits.max === 0 && !isHere ? limits.strangerMax : limits.max;
      const isTooMuch = max > 0 && count > max;
      const isCountedInAll = !isHere && !isTrusted(client);
      // If a request exceeds the limit of its own address, the request must not use up the limit that all strangers
      // (untrusted clients) share.
      if (isCountedInAll && !isTooMuch) strangers += cost;
      const isTooMuchInAll = isCountedInAll && limits.strangersTotalMax > 0 && strangers > limits.strangersTotalMax;
      const delayed = limits.delayAfter > 0 ? Math.max(0, count - limits.delayAfter) : 0;
      return {
        max,
        remaining: Math.max(0, max - count),
        isRefused: isTooMuch || isTooMuchInAll,
        delayMs: Math.min(delayed * limits.delayMs, DELAY_MAX_MS),
        resetMs: windowEndsMs - nowMs,
      };
    },
  };
}

export const UNLIMITED: Allowance = { max: 0, remaining: 0, isRefused: false, delayMs: 0, resetMs: undefined };

/**
 * Maps each HTTP request that the Express application (`express-app.ts`) handles to its allowance: the decision of the
 * rate limit about the request.
 */
export type Allowances = WeakMap<IncomingMessage, Allowance>;

/**
 * Returns the headers `X-RateLimit-Limit` and `X-RateLimit-Remaining`, as alternating names and values. If the client
 * has no maximum (`max` is 0), the result depends on the dialect. In this case, the result has none of these headers in
 * the extended dialect (the default). In the strict dialect, which answers like a lisk-sdk node, the result then has
 * both headers with the value 0.
 */
export function rateHeaders({ max, remaining }: Allowance, isStrict: boolean): readonly string[] {
  if (max === 0 && !isStrict) return [];
  return ['X-RateLimit-Limit', String(max), 'X-RateLimit-Remaining', String(remaining)];
}

/** Sets the headers of the rate limit, and delays the request by the delay of its allowance. */
export function sendRate(allowances: Allowances, isStrict: boolean): RequestHandler {
  return (request, response, next) => {
    const allowance = allowances.get(request) ?? UNLIMITED;
    const { delayMs } = allowance;
    const [, limit, , rest] = rateHeaders(allowance, isStrict);
    if (limit !== undefined) response.setHeader('X-RateLimit-Limit', limit);
    if (rest !== undefined) response.setHeader('X-RateLimit-Remaining', rest);
    if (delayMs === 0) next();
    else setTimeout(next, delayMs);
  };
}
