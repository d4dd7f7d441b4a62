/**
 * Chooses the timestamps of transactions on a devnet, so that two transactions with the same content have different
 * ids. A timestamp is a whole second, and transactions with equal content and equal timestamps have the same id. If
 * `next` has already returned the present second for equal content, `next` returns an earlier second. A later second is
 * not possible, because nodes refuse timestamps in future slots.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { hexOf } from '../../primitives/bytes.ts';
import type { KeyPair, Payload } from '../../protocol/types.ts';

/**
 * Maximum number of results of `next` that an `UnusedTimestamps` object stores, each with its sender and payload.
 * Without a maximum, a devnet that runs for months would fill its memory.
 */
const TIMESTAMPS_MAX = 20_000;

export class UnusedTimestamps {
  readonly #used = new LruMap<string, true>(TIMESTAMPS_MAX);

  /**
   * Returns the newest second, up to `nowS`, that `next` has not returned before for this sender and payload. `nowS`
   * and the result are seconds since the epoch of the network.
   */
  next({ publicKey }: KeyPair, payload: Payload, nowS: number): number {
    const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
    const content = JSON.stringify([hexOf(publicKey), payload], plain);
    let timestamp = nowS;
    while (this.#used.has(`${timestamp} ${content}`)) timestamp -= 1;
    this.#used.set(`${timestamp} ${content}`, true);
    return timestamp;
  }
}
