/** Applies the rate limit that several processes share. */

import { LruMap } from '../primitives/bounded.ts';
import type { Live } from '../ports/node-api.ts';
import type { Allowance } from './admission/allowance.ts';
import { clientKey, isThisMachine } from './admission/client-address.ts';
import type { SharedLimits } from './admission/shared-limits.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import type { HttpLimits } from './options.ts';
import { CLIENTS_MAX, UNLIMITED } from './rate-limit.ts';

/** A rate limit whose decision can come from another process. */
export interface LiveRateLimit {
  take(client: string | undefined, cost?: number): Live<Allowance>;
}

/**
 * Creates a rate limit for one of several processes. `shared` counts the requests of all processes. `take` asks
 * `shared` about each request to which a limit applies. After a refusal, `take` refuses all requests of the client
 * until the end of the window without asking again. This is correct, because a count never decreases within a window.
 */
export function createSharedRateLimit(
  limits: HttpLimits,
  shared: SharedLimits,
  clock: Pick<MonotonicClock, 'nowMs'> = MONOTONIC_CLOCK,
): LiveRateLimit {
  const { max, strangerMax, strangersTotalMax, delayAfter } = limits;
  const hasNoLimits = max === 0 && delayAfter === 0;
  const hasNoneForStrangers = hasNoLimits && strangerMax === 0 && strangersTotalMax === 0;
  const refused = new LruMap<string, { readonly allowance: Allowance; readonly untilMs: number }>(CLIENTS_MAX);
  const ask = async (client: string, key: string, cost: number): Promise<Allowance> => {
    const allowance = await shared.take(client, cost);
    if (allowance.isRefused) refused.set(key, { allowance, untilMs: clock.nowMs() + (allowance.resetMs ?? 0) });
    return allowance;
  };
  return {
    take(client = '', cost = 1) {
      if (isThisMachine(client) ? hasNoLimits : hasNoneForStrangers) return UNLIMITED;
      const key = clientKey(client);
      const known = refused.get(key);
      const leftMs = (known?.untilMs ?? 0) - clock.nowMs();
      if (known === undefined || leftMs <= 0) return ask(client, key, cost);
      return { ...known.allowance, resetMs: leftMs };
    },
  };
}
