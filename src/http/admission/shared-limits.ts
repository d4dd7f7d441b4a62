/**
 * Limits for addresses that several processes share. One process counts, and the other processes ask that process. Each
 * process first applies its own limits. Otherwise a flood of requests would become a flood of questions between the
 * processes.
 */

import type { Allowance } from './allowance.ts';

export type SharedObstacle = 'shut_out' | 'arrivals' | 'address_connections' | 'connections';

export interface SharedLimits {
  /**
   * Counts a request.
   *
   * @param cost number of requests that this request counts for
   * @throws ProtocolError `NODE_BUSY` when too many questions wait, or when no answer comes in time
   */
  take(client: string, cost: number): Promise<Allowance>;
  /**
   * Counts a stranger's new connection until `left` is called. If the connection must be closed, returns the reason and
   * does not count it.
   *
   * @throws ProtocolError `NODE_BUSY` like `take`
   */
  arrive(key: string): Promise<SharedObstacle | undefined>;
  /** Called when a counted connection was closed. */
  left(key: string): void;
  /** Records refusals of an address. Too many refusals shut the address out in all processes. */
  refused(key: string): void;
  /** Shuts an address out in all processes, because this process has shut it out. */
  shutOut(key: string): void;
  /**
   * @param shutOut called with the key of an address that another process has shut out
   */
  listen(shutOut: (key: string) => void): void;
}
