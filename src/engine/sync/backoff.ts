/**
 * Records the backoff of each peer that failed during a sync. During the backoff of a peer, the node does not sync from
 * the peer. Each further failure in a row that is the fault of the peer doubles the backoff, up to a maximum.
 */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerId } from '../../ports/transport.ts';

/**
 * Backoff in milliseconds after the first failure that is the fault of the peer, and after each failure that is not the
 * fault of the peer.
 */
const BACKOFF_FIRST_MS = 10_000;
/**
 * Longest backoff in milliseconds. The maximum is short, because it is possible that the only peer with the better
 * chain is an honest peer with a bad connection.
 */
const BACKOFF_MAX_MS = 80_000;
/** Maximum number of peers whose failures the node remembers. */
const PEERS_MAX = 1000;

interface BackoffState {
  readonly failures: number;
  readonly untilMs: number;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #backoff = new LruMap<PeerId, BackoffState>(PEERS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isBackingOff(peerId: PeerId): boolean {
    return (this.#backoff.get(peerId)?.untilMs ?? 0) > this.#clock.nowMs();
  }

  /** Returns the number of failures since the last `clear` that were the fault of the peer. */
  failures(peerId: PeerId): number {
    return this.#backoff.get(peerId)?.failures ?? 0;
  }

  /**
   * Records a failure.
   *
   * @param isItsFault true if the failure is the fault of the peer. If false, the backoff lasts `BACKOFF_FIRST_MS`, and
   *   `failures` does not count the failure
   */
  fail(peerId: PeerId, isItsFault = true): void {
    const failures = this.failures(peerId) + (isItsFault ? 1 : 0);
    const backoffMs = isItsFault ? Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failures - 1)) : BACKOFF_FIRST_MS;
    this.#backoff.set(peerId, { failures, untilMs: this.#clock.nowMs() + backoffMs });
  }

  /** Forgets the failures of a peer, and ends the backoff of the peer. */
  clear(peerId: PeerId): void {
    this.#backoff.delete(peerId);
  }
}
