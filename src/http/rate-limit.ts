/**
 * Counters of requests, one per client address and one for all, shared by all paths and reset at the end of each window. The
 * windows follow a monotonic clock: setting the clock of the machine neither extends nor cuts one.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { LruMap } from '../primitives/bounded.ts';
import { clientKey, isThisMachine } from './admission/client-address.ts';
import type { Allowance } from './admission/allowance.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import type { HttpLimits } from './options.ts';

export interface RateLimit {
  /** Counts a request. @param cost how many it counts for; 1 unless given */
  take(client: string | undefined, cost?: number): Allowance;
}

/** Addresses counted at once: the least recent is forgotten beyond, so a flood of addresses cannot fill the memory. */
export const CLIENTS_MAX = 20_000;
/** No request is held longer than this: what waits costs memory. */
const DELAY_MAX_MS = 60_000;

export interface RateLimitOptions {
  readonly clock?: Pick<MonotonicClock, 'nowMs'>;
  /** Addresses that do not count among all strangers: a flood of those must not use up what these have. */
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
      // Nobody looks at a count without a limit.
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
      // A request that is refused anyway takes nothing from others.
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

/** What was allowed to the requests that are at work. */
export type Allowances = WeakMap<IncomingMessage, Allowance>;

/**
 * Headers with limit and rest, as name and value in turn. Without a limit there are none: the reference tells 0 of 0 then, which
 * reads as if nothing were left, so that is kept for the strict dialect.
 */
export function rateHeaders({ max, remaining }: Allowance, isStrict: boolean): readonly string[] {
  if (max === 0 && !isStrict) return [];
  return ['X-RateLimit-Limit', String(max), 'X-RateLimit-Remaining', String(remaining)];
}

/** Tells limit and rest in headers, and delays where told. */
export function tellRate(allowances: Allowances, isStrict: boolean): RequestHandler {
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
