/**
 * Records the recent behaviour of addresses: how many connections an address opens, how many of its connections and
 * requests the node refuses, and whether the address is shut out. The node refuses all connections of an address that
 * is shut out. All addresses with the same key (`clientKey`) count as one address.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { MonotonicClock } from '../monotonic-clock.ts';
import { ADDRESSES_MAX, REFUSALS_MAX, SHUT_OUT_MS, WINDOW_MS } from './limits.ts';

interface Record {
  arrivals: Window;
  refusals: Window;
  shutOutUntilMs: number;
}

interface Window {
  endsMs: number;
  count: number;
}

export class AddressRecords {
  readonly #clock: MonotonicClock;
  readonly #arrivalsMax: number;
  readonly #records = new LruMap<string, Record>(ADDRESSES_MAX);

  /** @param arrivalsMax maximum number of new connections of one address in a window of `WINDOW_MS` */
  constructor(clock: MonotonicClock, arrivalsMax: number) {
    this.#clock = clock;
    this.#arrivalsMax = arrivalsMax;
  }

  /**
   * Records a new connection.
   *
   * @returns the reason to close the connection; undefined if the connection is allowed to stay
   */
  arrive(key: string): 'shut_out' | 'arrivals' | undefined {
    const nowMs = this.#clock.nowMs();
    const record = this.#recordOf(key);
    if (nowMs < record.shutOutUntilMs) return 'shut_out';
    return count(record.arrivals, nowMs) > this.#arrivalsMax ? 'arrivals' : undefined;
  }

  /**
   * Records that the node refused a request or a connection of the address.
   *
   * @returns true if this refusal shuts the address out; the caller must then close the connections of the address
   */
  refuse(key: string): boolean {
    const nowMs = this.#clock.nowMs();
    const record = this.#recordOf(key);
    if (count(record.refusals, nowMs) <= REFUSALS_MAX) return false;
    return this.#shutOut(record, nowMs);
  }

  /** Shuts the address out immediately, without counting refusals. */
  shutOut(key: string): void {
    this.#shutOut(this.#recordOf(key), this.#clock.nowMs());
  }

  #shutOut(record: Record, nowMs: number): true {
    record.shutOutUntilMs = nowMs + SHUT_OUT_MS;
    record.refusals.count = 0;
    return true;
  }

  #recordOf(key: string): Record {
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    const record = { arrivals: { endsMs: 0, count: 0 }, refusals: { endsMs: 0, count: 0 }, shutOutUntilMs: 0 };
    this.#records.set(key, record);
    return record;
  }
}

function count(window: Window, nowMs: number): number {
  if (nowMs >= window.endsMs) {
    window.endsMs = nowMs + WINDOW_MS;
    window.count = 0;
  }
  window.count += 1;
  return window.count;
}
