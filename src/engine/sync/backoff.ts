/** Backoff from peers that failed: the more often in a row, the longer. */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerId } from '../../ports/transport.ts';

const BACKOFF_FIRST_MS = 10_000;
/** Longest backoff: an honest peer behind a bad line must not be out of reach for long when it alone has the better chain. */
const BACKOFF_MAX_MS = 80_000;
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

  /** Failures in a row. */
  failures(peerId: PeerId): number {
    return this.#backoff.get(peerId)?.failures ?? 0;
  }

  /** @param isItsFault false leaves it alone for the shortest time, however often it happens */
  fail(peerId: PeerId, isItsFault = true): void {
    const failures = this.failures(peerId) + (isItsFault ? 1 : 0);
    const backoffMs = isItsFault ? Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failures - 1)) : BACKOFF_FIRST_MS;
    this.#backoff.set(peerId, { failures, untilMs: this.#clock.nowMs() + backoffMs });
  }

  clear(peerId: PeerId): void {
    this.#backoff.delete(peerId);
  }
}
