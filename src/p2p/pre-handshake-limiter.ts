/**
 * Connections that have not said who they are yet: open TCP, half an upgrade, no handshake. Each costs memory and a place, so
 * there are only so many, and whoever holds the most of them gives one up for a newcomer; a slow crowd at one address cannot
 * shut the door for others.
 */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import { RateWindow } from './rate.ts';

export /** A connection, as far as the limiter knows it. */
interface Cuttable {
  destroy(): unknown;
}

interface PreHandshakeLimiterOptions {
  readonly clock: Clock;
  /** Connections without handshake at a time. */
  readonly strangersMax: number;
  /** New connections of one address in ten seconds; more are cut before anything is read of them. */
  readonly arrivalsPerIpMax: number;
}

/**
 * WebSocket handshakes: one takes some 3 ms of the main thread, so that all strangers together get a tenth of it. The second half
 * of what may come at once is for addresses that have just arrived: a few that connect again and again do not shut out others.
 * Faster arrivals wait; the limit on strangers bounds how many.
 */
export const HANDSHAKES_AT_ONCE_MAX = 100;
export const HANDSHAKES_PER_SECOND = 40;
/** The same for peers that the operator named, beside all strangers. */
export const NAMED_HANDSHAKES_AT_ONCE_MAX = 20;
const NAMED_HANDSHAKES_PER_SECOND = 10;

const ARRIVALS_WINDOW_MS = 10_000;
const ADDRESSES_MAX = 5_000;

interface Greeting {
  readonly socket: Cuttable;
  readonly ip: string;
  readonly isNamed: boolean;
  readonly begin: () => void;
}

export class PreHandshakeLimiter {
  readonly #options: PreHandshakeLimiterOptions;
  /** In the order of their arrival. */
  readonly #strangers = new Map<Cuttable, string>();
  readonly #arrivals = new LruMap<string, RateWindow>(ADDRESSES_MAX);

  /** Handshakes of all, and those that addresses which came before may take of them. */
  readonly #handshakes = new TokenBucket(HANDSHAKES_AT_ONCE_MAX, 1_000 / HANDSHAKES_PER_SECOND);
  readonly #handshakesAgain = new TokenBucket(HANDSHAKES_AT_ONCE_MAX / 2, 2_000 / HANDSHAKES_PER_SECOND);
  readonly #handshakesNamed = new TokenBucket(NAMED_HANDSHAKES_AT_ONCE_MAX, 1_000 / NAMED_HANDSHAKES_PER_SECOND);
  /** Addresses that took a handshake of late. */
  readonly #greeted = new LruMap<string, RateWindow>(ADDRESSES_MAX);

  /** Connections that wait for their handshake, oldest first. */
  #waiting: Greeting[] = [];

  constructor(options: PreHandshakeLimiterOptions) {
    this.#options = options;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** A connection was opened. @returns false when it was cut at once */
  enter(socket: Cuttable, ip: string): boolean {
    let arrivals = this.#arrivals.get(ip);
    if (arrivals === undefined) this.#arrivals.set(ip, (arrivals = new RateWindow(ARRIVALS_WINDOW_MS)));
    if (arrivals.use(this.#options.clock.nowMs()) > this.#options.arrivalsPerIpMax) {
      socket.destroy();
      return false;
    }
    this.#strangers.set(socket, ip);
    if (this.#strangers.size > this.#options.strangersMax) this.#makeRoom();
    return this.#strangers.has(socket);
  }

  /** A connection has asked for its WebSocket handshake: begins it, at once or when there is time. */
  greet(socket: Cuttable, ip: string, isNamed: boolean, begin: () => void): void {
    const isFirst = this.#waiting.length === 0;
    if ((isFirst || isNamed) && this.#takeHandshake(ip, isNamed)) return begin();
    this.#waiting.push({ socket, ip, isNamed, begin });
    if (isFirst) this.#greetLater();
  }

  #greetLater(): void {
    this.#options.clock.after(1_000 / HANDSHAKES_PER_SECOND, () => {
      this.#waiting = this.#waiting.filter(({ socket, ip, isNamed, begin }) => {
        if (!this.#strangers.has(socket)) return false;
        if (!this.#takeHandshake(ip, isNamed)) return true;
        begin();
        return false;
      });
      if (this.#waiting.length > 0) this.#greetLater();
    });
  }

  #takeHandshake(ip: string, isNamed: boolean): boolean {
    const nowMs = this.#options.clock.nowMs();
    if (isNamed && this.#handshakesNamed.take(nowMs)) return true;
    if (this.#handshakes.waitMs(nowMs) > 0) return false;
    let greeted = this.#greeted.get(ip);
    if (greeted === undefined) this.#greeted.set(ip, (greeted = new RateWindow(ARRIVALS_WINDOW_MS)));
    const isAgain = greeted.use(nowMs) > 1;
    return (!isAgain || this.#handshakesAgain.take(nowMs)) && this.#handshakes.take(nowMs);
  }

  /** The connection is a peer's now, or closed. */
  leave(socket: Cuttable): void {
    this.#strangers.delete(socket);
  }

  /** Cuts the oldest stranger of the address that has most of them: who means well is through within moments. */
  #makeRoom(): void {
    const counts = new Map<string, number>();
    for (const ip of this.#strangers.values()) counts.set(ip, (counts.get(ip) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const [socket, ip] of this.#strangers) {
      if (counts.get(ip) !== most) continue;
      this.#strangers.delete(socket);
      socket.destroy();
      return;
    }
  }
}
