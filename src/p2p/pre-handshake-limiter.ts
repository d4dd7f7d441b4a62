/**
 * Limits TCP connections that have not finished their handshake. Here, the handshake consists of the WebSocket
 * handshake and, after it, the handshake of the SocketCluster protocol. Each such connection takes memory, so this
 * module limits their number. When a new connection exceeds the limit, the module closes a connection of the address
 * that has the most unfinished handshakes. Therefore one address with many slow connections cannot lock out other
 * addresses.
 */

import { LruMap } from '../primitives/bounded.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import { RateWindow } from './rate-window.ts';

/** The part of a connection that the limiter uses. */
export interface Cuttable {
  destroy(): unknown;
}

interface PreHandshakeLimiterOptions {
  readonly clock: Clock;
  /** Maximum number of connections that have not finished their handshake. */
  readonly handshakesPendingMax: number;
  /**
   * Maximum number of new connections from one address in ten seconds. The limiter closes further connections before
   * the node reads any data from them.
   */
  readonly arrivalsPerIpMax: number;
}

/**
 * Limits on WebSocket handshakes. A stranger is an address at which the operator named no peer. A handshake takes about
 * 3 ms of the main thread. With the rate `HANDSHAKES_PER_SECOND`, the handshakes of all strangers together take about a
 * tenth of the main thread's time. The limiter reserves half of the burst (`HANDSHAKES_AT_ONCE_MAX`) and half of the
 * rate for the first handshake of each address in a window of ten seconds. Therefore a few addresses that connect again
 * and again do not lock out other addresses. When these limits are used up, further handshakes wait.
 * `handshakesPendingMax` limits the number of waiting handshakes.
 */
export const HANDSHAKES_AT_ONCE_MAX = 100;
export const HANDSHAKES_PER_SECOND = 40;
/**
 * Handshakes from addresses of named peers have separate limits: the two constants below. When these limits are used
 * up, further handshakes from these addresses count against the limits for strangers (addresses at which the operator
 * named no peer).
 */
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
  /** Sockets that have not finished their handshake, each with its IP, in the order of arrival. */
  readonly #pending = new Map<Cuttable, string>();
  readonly #arrivals = new LruMap<string, RateWindow>(ADDRESSES_MAX);

  /**
   * Limits the handshakes of all strangers (addresses at which the operator named no peer) together. A handshake of a
   * named peer also counts here if `#handshakesNamed` has no token.
   */
  readonly #handshakes = new TokenBucket(HANDSHAKES_AT_ONCE_MAX, 1_000 / HANDSHAKES_PER_SECOND);
  /**
   * Limits the repeated handshakes among the handshakes that `#handshakes` limits, for all addresses together. A
   * handshake is repeated if it is not the first handshake of its address in a window of ten seconds. The counts in
   * `#greeted` show whether a handshake is repeated.
   */
  readonly #handshakesAgain = new TokenBucket(HANDSHAKES_AT_ONCE_MAX / 2, 2_000 / HANDSHAKES_PER_SECOND);
  readonly #handshakesNamed = new TokenBucket(NAMED_HANDSHAKES_AT_ONCE_MAX, 1_000 / NAMED_HANDSHAKES_PER_SECOND);
  /**
   * For each address, counts the attempts to begin a handshake. An attempt counts only under two conditions:
   * `#handshakes` limits the handshake (not `#handshakesNamed`), and `#handshakes` has a token at the moment of the
   * attempt. Each window lasts ten seconds.
   */
  readonly #greeted = new LruMap<string, RateWindow>(ADDRESSES_MAX);

  /** Connections that wait for their handshake, oldest first. */
  #waiting: Greeting[] = [];

  constructor(options: PreHandshakeLimiterOptions) {
    this.#options = options;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /**
   * Registers a new connection.
   *
   * @returns false if the limiter has closed this connection
   */
  enter(socket: Cuttable, ip: string): boolean {
    let arrivals = this.#arrivals.get(ip);
    if (arrivals === undefined) this.#arrivals.set(ip, (arrivals = new RateWindow(ARRIVALS_WINDOW_MS)));
    if (arrivals.use(this.#options.clock.nowMs()) > this.#options.arrivalsPerIpMax) {
      socket.destroy();
      return false;
    }
    this.#pending.set(socket, ip);
    if (this.#pending.size > this.#options.handshakesPendingMax) this.#makeRoom();
    return this.#pending.has(socket);
  }

  /**
   * Calls `begin`, which begins the WebSocket handshake of a connection, as soon as the limits allow the handshake. If
   * the connection closes first, the limiter does not call `begin`.
   */
  greet(socket: Cuttable, ip: string, isNamed: boolean, begin: () => void): void {
    const isFirst = this.#waiting.length === 0;
    if ((isFirst || isNamed) && this.#takeHandshake(ip, isNamed)) return begin();
    this.#waiting.push({ socket, ip, isNamed, begin });
    if (isFirst) this.#greetLater();
  }

  #greetLater(): void {
    this.#options.clock.after(1_000 / HANDSHAKES_PER_SECOND, () => {
      this.#waiting = this.#waiting.filter(({ socket, ip, isNamed, begin }) => {
        if (!this.#pending.has(socket)) return false;
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

  /** Removes a connection that has finished its handshake or is closed. */
  leave(socket: Cuttable): void {
    this.#pending.delete(socket);
  }

  /**
   * Closes the oldest unfinished connection of the address with the most unfinished handshakes. Honest peers finish
   * their handshakes quickly, so the oldest unfinished connection rarely belongs to an honest peer.
   */
  #makeRoom(): void {
    const counts = new Map<string, number>();
    for (const ip of this.#pending.values()) counts.set(ip, (counts.get(ip) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const [socket, ip] of this.#pending) {
      if (counts.get(ip) !== most) continue;
      this.#pending.delete(socket);
      socket.destroy();
      return;
    }
  }
}
