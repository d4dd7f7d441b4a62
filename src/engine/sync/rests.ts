/** Peers that failed and are left alone for a while: the more often in a row, the longer. */

import { LruMap } from '../../primitives/bounded.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PeerId } from '../../ports/transport.ts';

const REST_FIRST_MS = 10_000;
/** Longest rest: an honest peer behind a bad line must not be out of reach for long when it alone has the better chain. */
const REST_MOST_MS = 80_000;
const PEERS_MAX = 1000;

interface Rest {
  readonly failures: number;
  readonly untilMs: number;
}

export class Rests {
  readonly #clock: Clock;
  readonly #rests = new LruMap<PeerId, Rest>(PEERS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isResting(peerId: PeerId): boolean {
    return (this.#rests.get(peerId)?.untilMs ?? 0) > this.#clock.nowMs();
  }

  /** Failures in a row. */
  failures(peerId: PeerId): number {
    return this.#rests.get(peerId)?.failures ?? 0;
  }

  /** @param isItsFault false leaves it alone for the shortest time, however often it happens */
  fail(peerId: PeerId, isItsFault = true): void {
    const failures = this.failures(peerId) + (isItsFault ? 1 : 0);
    const restMs = isItsFault ? Math.min(REST_MOST_MS, REST_FIRST_MS * 2 ** (failures - 1)) : REST_FIRST_MS;
    this.#rests.set(peerId, { failures, untilMs: this.#clock.nowMs() + restMs });
  }

  clear(peerId: PeerId): void {
    this.#rests.delete(peerId);
  }
}
