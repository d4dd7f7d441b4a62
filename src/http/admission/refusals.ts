/**
 * Counts the refused connections and requests by reason, and reports the counts to the metrics and the log. At most one
 * log line with these counts is written in an interval of `LINE_MS`.
 */

import { messageOf } from '../../primitives/errors.ts';
import type { Observer } from '../../ports/observer.ts';
import type { MonotonicClock } from '../monotonic-clock.ts';

/** The reasons why the node refuses a connection or a request, each with a description. */
const REFUSAL_REASONS = {
  access: 'the address has no access',
  rate: 'the address sent more requests than the rate limit allows',
  route: 'there is no such path',
  body: 'the body is too large or compressed',
  malformed: 'the received bytes are not HTTP, or expect an unsupported feature',
  pipelined: 'the client sent too many bytes during an unfinished request',
  address_connections: 'the address has the maximum number of connections',
  connections: 'the maximum number of connections is open',
  uncounted: 'the process that counts all connections did not answer in time',
  arrivals: 'the address opens connections too fast',
  shut_out: 'the address is shut out for its earlier requests',
  buffers: 'all buffers together exceeded their limit, and this address had the largest part',
  headers_time: 'the headers did not arrive in time',
  request_time: 'the request did not arrive in time',
  reading_time: 'the answer was not read in time',
  failed: 'an error of the node ended the request',
} as const;

export type RefusalReason = keyof typeof REFUSAL_REASONS;

/** Shortest time in milliseconds between two log lines about refusals. */
const LINE_MS = 60_000;

export class RefusalCounter {
  readonly #observer: Observer;
  readonly #clock: MonotonicClock;
  /** Number of refusals for each reason since the last report to the metrics. */
  readonly #unreported = new Map<RefusalReason, number>();
  /** Number of refusals for each reason since the last log line about refusals. */
  #sinceLine: Record<string, number> = {};
  #nextLineMs = Number.NEGATIVE_INFINITY;
  #nextFailureLineMs = Number.NEGATIVE_INFINITY;

  constructor(observer: Observer, clock: MonotonicClock) {
    this.#observer = observer;
    this.#clock = clock;
  }

  count(reason: RefusalReason): void {
    this.#unreported.set(reason, (this.#unreported.get(reason) ?? 0) + 1);
  }

  /**
   * Logs an error of the node that client input caused. Only one error in an interval of `LINE_MS` is logged, because a
   * client can cause any number of these errors.
   */
  fail(error: unknown): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#nextFailureLineMs) return;
    this.#nextFailureLineMs = nowMs + LINE_MS;
    this.#observer.log('error', 'HTTP_CONNECTION_FAILED', 'An error of the node ended the connection of a client', {
      error: messageOf(error),
      stack: error instanceof Error ? error.stack : undefined,
    });
  }

  /**
   * Reports the counted refusals to the metrics and the log. A timer calls this method, because a refusal itself must
   * take almost no time.
   */
  report(): void {
    for (const [reason, count] of this.#unreported) {
      this.#observer.count('http_refused_total', count, { reason });
      this.#sinceLine[reason] = (this.#sinceLine[reason] ?? 0) + count;
    }
    this.#unreported.clear();
    const nowMs = this.#clock.nowMs();
    const isWorthALine = LINE_REASONS.some((reason) => reason in this.#sinceLine);
    if (!isWorthALine || nowMs < this.#nextLineMs) return;
    this.#nextLineMs = nowMs + LINE_MS;
    this.#observer.log('warn', 'HTTP_CLIENTS_REFUSED', 'Clients of the HTTP interface are refused', this.#sinceLine);
    this.#sinceLine = {};
  }
}

/**
 * Refusals with these reasons cause a log line, because they can require an action of the operator. The line states the
 * counts of all reasons. The reason `failed` is not in the list, because the method `fail` already logs the error of
 * such a refusal. All other reasons that are not in the list, such as unknown paths, malformed requests and slow
 * clients, are normal.
 */
const LINE_REASONS: readonly RefusalReason[] = [
  'access',
  'rate',
  'pipelined',
  'address_connections',
  'connections',
  'uncounted',
  'arrivals',
  'shut_out',
  'buffers',
];
