/**
 * Limits of addresses that hold for several processes together. One process counts; the others ask it, and still refuse by
 * themselves what their own limits refuse, so that a flood at one of them does not become a flood of questions.
 */

import type { Allowance } from './allowance.ts';

export type SharedObstacle = 'shut_out' | 'arrivals' | 'address_connections' | 'connections';

export interface SharedLimits {
  /**
   * Counts a request.
   *
   * @param cost how many it counts for
   * @throws ProtocolError `NODE_BUSY` when more wait for an answer than may, or when none comes in time
   */
  take(client: string, cost: number): Promise<Allowance>;
  /**
   * A stranger's connection came; it is counted until `left` where there is no obstacle.
   *
   * @throws ProtocolError `NODE_BUSY` as `take`
   */
  arrive(key: string): Promise<SharedObstacle | undefined>;
  /** A connection that was counted is gone. */
  left(key: string): void;
  /** The address was refused something. Too many of those shut it out everywhere. */
  refused(key: string): void;
  /** The address is shut out here, and so it is everywhere. */
  shutOut(key: string): void;
  /** @param shutOut called with the key of an address that is shut out for what it did elsewhere */
  listen(shutOut: (key: string) => void): void;
}
