/**
 * Counts the requests, connections, refusals and replays of each address, for all processes that answer HTTP (see
 * `SharedLimits`). A replay is an event stream that still sends old events to a stranger (`events/replays.ts`). A
 * stranger is a client that is not trusted. When a process ends, its connections and replays no longer count.
 */

import { createTrust } from './access.ts';
import type { Allowance } from './admission/allowance.ts';
import { admissionLimitsOf, REFUSALS_MAX } from './admission/limits.ts';
import { AddressRecords } from './admission/address-records.ts';
import type { SharedRefusalReason } from './admission/shared-limits.ts';
import { ConnectionCounters } from './connection-counters.ts';
import { Replays } from './events/replays.ts';
import { MONOTONIC_CLOCK, type MonotonicClock } from './monotonic-clock.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './options.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';

export interface SharedCountersOptions {
  /**
   * Options that differ from `HTTP_DEFAULTS`. The counters use only two kinds of options: the limits, and the options
   * that name trusted addresses (`createTrust`).
   */
  readonly http: Partial<HttpOptions>;
  /**
   * Called with the key of an address (`clientKey`) when the node begins to refuse all connections of this address
   * (`address-records.ts`).
   */
  readonly shutOut: (key: string) => void;
  /**
   * Called with true when the number of connections of all processes reaches its maximum, and with false when the
   * number is below the maximum again.
   */
  readonly full: (isFull: boolean) => void;
  /**
   * Called to make room for a new connection. The process `holder` must then close an idle connection of the address
   * with the key `key`, if there is one.
   */
  readonly makeRoom: (holder: number, key: string) => void;
  readonly clock?: MonotonicClock;
}

export class SharedCounters {
  readonly #rate: RateLimit;
  readonly #addresses: AddressRecords;
  readonly #connections: ConnectionCounters;
  readonly #replays = new Replays();
  /**
   * Number of replays, by process and by the key of the client (`clientKey`: the IPv4 address, or the /64 network of
   * the IPv6 address). A replay is an event stream that still sends old events to a client that is not trusted.
   */
  readonly #replaysOf = new Map<number, Map<string, number>>();
  readonly #options: SharedCountersOptions;
  #wasFull = false;

  constructor(given: SharedCountersOptions) {
    const { http, makeRoom, clock = MONOTONIC_CLOCK } = given;
    const options = { ...HTTP_DEFAULTS, ...http };
    const limits = admissionLimitsOf(options.limits);
    this.#options = given;
    this.#rate = createRateLimit(options.limits, { clock, isTrusted: createTrust(options) });
    this.#addresses = new AddressRecords(clock, limits.arrivalsPerAddressMax);
    this.#connections = new ConnectionCounters(limits, makeRoom);
  }

  take(client: string, cost: number): Allowance {
    return this.#rate.take(client, cost);
  }

  /** @param holder process that has the connection */
  arrive(holder: number, key: string): SharedRefusalReason | undefined {
    const penalty = this.#addresses.arrive(key);
    if (penalty !== undefined) return penalty;
    const reason = this.#connections.arrive(holder, key);
    this.#notifyFull();
    return reason;
  }

  /** @param count number of closed connections; see `ConnectionCounters.left` */
  left(holder: number, key: string, count = 1): void {
    this.#connections.left(holder, key, count);
    this.#notifyFull();
  }

  /** @param change change in the number of connections that trusted clients have to the process */
  trusted(holder: number, change: number): void {
    this.#connections.trusted(holder, change);
    this.#notifyFull();
  }

  /**
   * Begins a replay.
   *
   * @returns false when the address, or all addresses together, already have the maximum number of replays
   */
  replay(holder: number, key: string): boolean {
    if (!this.#replays.begin(key)) return false;
    const held = this.#replaysOf.get(holder) ?? new Map<string, number>();
    this.#replaysOf.set(holder, held);
    held.set(key, (held.get(key) ?? 0) + 1);
    return true;
  }

  /** @param count number of ended replays. If it is above the number of counted replays, no replay stays counted */
  replayEnded(holder: number, key: string, count = 1): void {
    const held = this.#replaysOf.get(holder);
    const before = held?.get(key) ?? 0;
    if (held === undefined || before === 0) return;
    const ended = Math.min(count, before);
    if (before > ended) held.set(key, before - ended);
    else held.delete(key);
    for (let at = 0; at < ended; at += 1) this.#replays.end(key);
  }

  /** @param times number of the address's refused connections and requests that this call reports */
  refused(key: string, times: number): void {
    for (let count = 0; count < Math.min(times, REFUSALS_MAX + 1); count += 1) {
      if (this.#addresses.refuse(key)) return this.#options.shutOut(key);
    }
  }

  shutOut(key: string): void {
    this.#addresses.shutOut(key);
    this.#options.shutOut(key);
  }

  /** Subtracts the connections and replays of a process that has ended from all counts. */
  forget(holder: number): void {
    this.#connections.forget(holder);
    for (const [key, count] of this.#replaysOf.get(holder) ?? []) {
      for (let ended = 0; ended < count; ended += 1) this.#replays.end(key);
    }
    this.#replaysOf.delete(holder);
    this.#notifyFull();
  }

  #notifyFull(): void {
    const { isFull } = this.#connections;
    if (isFull === this.#wasFull) return;
    this.#wasFull = isFull;
    this.#options.full(isFull);
  }
}
