/**
 * Defines the limits that cover all processes that answer HTTP. These limits apply to requests, to connections, and to
 * replays (event streams that still send old events to a stranger). The process of the node counts all three. The
 * processes that answer HTTP ask this counting process whether the limits admit a request, a connection or a replay.
 * Before a process asks, it applies the limits to its own connections. It also refuses the requests of a client that
 * has already reached the rate limit, without asking. A flood of requests therefore does not become a flood of messages
 * between the processes. A stranger is a client that is not trusted.
 */

import type { Allowance } from './allowance.ts';

/** Listener for the messages of the counting process. */
export interface SharedLimitsListener {
  /** The counting process has shut out the address with this key (`clientKey`) in all processes. */
  shutOut(key: string): void;
  /** The connections of all processes together have reached the maximum (true), or are below it again (false). */
  full(isFull: boolean): void;
  /**
   * Called when the strangers (untrusted clients) have their maximum number of connections in all processes together.
   * The counting process calls this method in one process. The called process must then close an idle connection of the
   * address with this key, if the process has one, to make room for a new connection of a different address.
   */
  makeRoom(key: string): void;
}

/** The reason why the counting process refuses a connection. */
export type SharedRefusalReason = 'shut_out' | 'arrivals' | 'address_connections' | 'connections';

export interface SharedLimits {
  /**
   * Counts a request.
   *
   * @param cost number of requests that the rate limit counts for this request
   * @throws ProtocolError `NODE_BUSY` when too many calls wait for the counting process, `NODE_SILENT` when the
   *   counting process does not answer in time
   */
  take(client: string, cost: number): Promise<Allowance>;
  /**
   * Counts the new connection of a stranger (an untrusted client) until `left` is called. If the connection must be
   * closed, returns the reason and does not count the connection.
   *
   * @throws ProtocolError in the same cases as `take`
   */
  arrive(key: string): Promise<SharedRefusalReason | undefined>;
  /**
   * Counts a connection of a trusted client. The counting process never refuses such a connection, so the caller does
   * not wait for an answer.
   */
  trustedCame(): void;
  /** Called when a connection of a trusted client was closed. */
  trustedLeft(): void;
  /** Called when a counted connection of a stranger (an untrusted client) was closed. */
  left(key: string): void;
  /**
   * Counts a replay of old events (`events/replays.ts`) for an address until `replayEnded` is called.
   *
   * @returns false when the address, or all addresses together, already have the maximum number of replays
   * @throws ProtocolError in the same cases as `take`
   */
  replay(key: string): Promise<boolean>;
  replayEnded(key: string): void;
  /**
   * Counts a refusal of a connection or request of an address. After more than `REFUSALS_MAX` refusals in a window of
   * `WINDOW_MS`, the counting process shuts the address out in all processes.
   */
  refused(key: string): void;
  /**
   * Reports that this process has shut an address out. The counting process then shuts the address out in all
   * processes.
   */
  shutOut(key: string): void;
  listen(listener: SharedLimitsListener): void;
}
