/**
 * Counts requests, connections and refusals of addresses for several processes that answer HTTP (`SharedLimits`). When
 * a process ends, its connections no longer count.
 */

import { createTrust } from './access.ts';
import type { Allowance } from './admission/allowance.ts';
import { strangersMaxOf } from './admission/connections.ts';
import { admissionLimitsOf, REFUSALS_MAX, type AdmissionLimits } from './admission/limits.ts';
import { Penalties } from './admission/penalties.ts';
import type { SharedObstacle } from './admission/shared-limits.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './options.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';

export interface LimitLedgerOptions {
  /** Limits that differ from `HTTP_DEFAULTS`. */
  readonly http: Partial<HttpOptions>;
  /** Called with the key of an address when it is shut out. */
  readonly shutOut: (key: string) => void;
  readonly clock?: MonotonicClock;
}

export class LimitLedger {
  readonly #rate: RateLimit;
  readonly #limits: AdmissionLimits;
  readonly #penalties: Penalties;
  readonly #tellShutOut: (key: string) => void;
  /** Number of strangers' connections, by process and by client key. `connectionsMax` limits the number of entries. */
  readonly #held = new Map<number, Map<string, number>>();
  readonly #byKey = new Map<string, number>();
  #strangers = 0;

  constructor({ http, shutOut, clock = MONOTONIC_CLOCK }: LimitLedgerOptions) {
    const options = { ...HTTP_DEFAULTS, ...http };
    this.#limits = admissionLimitsOf(options.limits);
    this.#rate = createRateLimit(options.limits, { clock, isTrusted: createTrust(options) });
    this.#penalties = new Penalties(clock, this.#limits.arrivalsPerAddressMax);
    this.#tellShutOut = shutOut;
  }

  take(client: string, cost: number): Allowance {
    return this.#rate.take(client, cost);
  }

  /**
   * @param holder process that has the connection
   */
  arrive(holder: number, key: string): SharedObstacle | undefined {
    const isBarred = this.#penalties.arrive(key);
    if (isBarred !== undefined) return isBarred;
    const own = this.#byKey.get(key) ?? 0;
    if (own >= this.#limits.connectionsPerAddressMax) return 'address_connections';
    if (this.#strangers >= strangersMaxOf(this.#limits.connectionsMax)) return 'connections';
    const held = this.#held.get(holder) ?? new Map<string, number>();
    this.#held.set(holder, held);
    held.set(key, (held.get(key) ?? 0) + 1);
    this.#byKey.set(key, own + 1);
    this.#strangers += 1;
    return undefined;
  }

  left(holder: number, key: string): void {
    const held = this.#held.get(holder);
    const count = held?.get(key) ?? 0;
    // A process cannot release more connections than it has.
    if (held === undefined || count === 0) return;
    if (count > 1) held.set(key, count - 1);
    else held.delete(key);
    this.#giveBack(key, 1);
  }

  /**
   * @param times number of refusals of the address
   */
  refused(key: string, times: number): void {
    for (let count = 0; count < Math.min(times, REFUSALS_MAX + 1); count += 1) {
      if (this.#penalties.refuse(key)) return this.#tellShutOut(key);
    }
  }

  shutOut(key: string): void {
    this.#penalties.shutOut(key);
    this.#tellShutOut(key);
  }

  /** Releases the connections of a process that has ended. */
  forget(holder: number): void {
    for (const [key, count] of this.#held.get(holder) ?? []) this.#giveBack(key, count);
    this.#held.delete(holder);
  }

  #giveBack(key: string, count: number): void {
    const left = (this.#byKey.get(key) ?? 0) - count;
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
    this.#strangers -= count;
  }
}
