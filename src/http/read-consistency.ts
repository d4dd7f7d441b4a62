/**
 * Makes reads over HTTP consistent. The headers of an answer name the block whose state the answer shows. If the answer
 * has an ETag, the ETag contains the id of this block. A client can send the highest height that it has seen. If the
 * node's chain is below this height, the node waits for this height, or answers with status 503. The answer therefore
 * never shows the state at a lower height, even if a load balancer sends the client's requests to different nodes.
 */

import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../ports/clock.ts';
import type { NodeApi } from '../ports/node-api.ts';
import type { HttpDialect } from './dialect.ts';

export const HEIGHT_HEADER = 'X-Height';
export const BLOCK_ID_HEADER = 'X-Block-Id';
/** Headers that scripts of pages from other sites are allowed to read, if `http.corsOrigin` allows the site. */
export const EXPOSED_HEADERS = [HEIGHT_HEADER, BLOCK_ID_HEADER, 'ETag', 'Retry-After', 'X-Ignored-Parameters'];
export const MIN_HEIGHT_PARAMETER = 'minHeight';
const MIN_HEIGHT_HEADER = 'x-min-height';
/**
 * Maximum time in milliseconds for which a request waits until the chain has the height that the client requires. The
 * time is the length of a slot (10 s) plus 2 s, in which the block of the next slot can reach the node.
 */
export const HEIGHT_WAIT_MS_MAX = 12_000;
/**
 * A request waits for at most this share of `limits.socketTimeoutMs`. The node can therefore still answer with status
 * 503 before the server closes the connection.
 */
const SOCKET_TIMEOUT_SHARE = 0.6;
/**
 * Maximum number of requests that wait for a height at the same time. A waiting request occupies its connection, a
 * timer and a little memory.
 */
const WAITING_MAX = 1000;
/**
 * Value of the header `Retry-After` in seconds, for each problem with status 503, and for a problem with status 429
 * that the verification budget causes. In contrast, if the rate limit causes the status 429, the value is the time
 * until the current time window of the rate limit ends.
 */
export const RETRY_AFTER_S = 5;

export interface ReadPosition {
  readonly id: string;
  readonly height: number;
}

/** Returns the tip of the node; undefined before the node has a chain. */
export function positionOf(api: Pick<NodeApi, 'chain'>): ReadPosition | undefined {
  const tip = api.chain.tip();
  return tip === undefined ? undefined : { id: tip.id, height: tip.height };
}

/**
 * Returns the ETag of an answer that depends on the chain alone. The ETag changes with the chain and with the version
 * of the node's software. The ETag is weak, because answers with different bytes can have the same ETag. First, an
 * answer can be compressed or plain. Second, different nodes can know different times `receivedAt` of transactions.
 */
export function etagOf({ id }: ReadPosition, build: string): string {
  return `W/"${id}-${build}"`;
}

/** @param header the header `If-None-Match` */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const bare = etag.replace(/^W\//, '');
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === bare);
}

export interface WantedHeight {
  /**
   * The required height. Undefined when the client requires no height; NaN when the client sent a value that is not a
   * height.
   */
  readonly height: number | undefined;
  /**
   * The request target without the parameter `minHeight`. The strict dialect has only the parameters of lisk-sdk nodes.
   * In this dialect, paths below `/api` have no parameter `minHeight`, so the target of such a path is unchanged.
   */
  readonly target: string;
}

const PARAMETER_NAME = `${MIN_HEIGHT_PARAMETER}=`;
const PARAMETER = /[?&]minHeight=([^&#]*)/g;
/**
 * Matches a target below `/api`, where `http.strictDialect` applies. The pattern ignores the case of the letters,
 * because the routes of generation 2 also ignore the case.
 */
const BELOW_PREFIX = /^\/api(?:[/?#]|$)/i;
const HEIGHT = /^[1-9][0-9]{0,9}$/;

/**
 * Reads the height that the client requires, from the header `X-Min-Height` and the parameter `minHeight`. If the
 * request contains several heights, the result has the largest one. A request with several headers `X-Min-Height`
 * contains no valid height in these headers, because node:http joins their values (`1, 2`).
 *
 * @param dialect dialect of the paths below `/api`. If the dialect is strict (only the parameters of lisk-sdk nodes),
 *   these paths have no parameter `minHeight`, so the function reads only the header
 */
export function wantedHeight(
  { url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  dialect: Pick<HttpDialect, 'strict'>,
): WantedHeight {
  const header = headers[MIN_HEIGHT_HEADER];
  const texts = typeof header === 'string' ? [header] : [];
  let target = url;
  const allowsParameter = !dialect.strict || !BELOW_PREFIX.test(url);
  const queryStart = url.indexOf('?');
  // Most requests require no height. This search costs less than the patterns below.
  if (allowsParameter && queryStart >= 0 && url.includes(PARAMETER_NAME, queryStart)) {
    const query = url.slice(queryStart);
    for (const [, value = ''] of query.matchAll(PARAMETER)) texts.push(value);
    // If `minHeight` was the first parameter, the first replacement also removed the `?`. The `&` before the next
    // parameter then becomes `?`.
    target = url.slice(0, queryStart) + query.replace(PARAMETER, '').replace(/^&/, '?');
  }
  if (texts.length === 0) return { height: undefined, target };
  const heights = texts.map((text) => (HEIGHT.test(text) ? Number(text) : Number.NaN));
  return { height: heights.some(Number.isNaN) ? Number.NaN : Math.max(...heights), target };
}

/** Lets requests wait until the chain reaches a height. */
export class HeightWaiters {
  readonly #api: Pick<NodeApi, 'chain' | 'listen'>;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #waitMsMax: number;
  readonly #waiting = new Set<Waiter>();
  #stopListening: (() => void) | undefined;

  /**
   * @param socketTimeoutMs time after which the server closes a connection without traffic. A wait must be shorter than
   * this time
   */
  constructor(api: Pick<NodeApi, 'chain' | 'listen'>, clock: Pick<Clock, 'after'>, socketTimeoutMs: number) {
    this.#api = api;
    this.#clock = clock;
    this.#waitMsMax = Math.min(HEIGHT_WAIT_MS_MAX, socketTimeoutMs * SOCKET_TIMEOUT_SHARE);
  }

  /**
   * Waits until the chain has the height.
   *
   * @returns true if the chain has the height; false if `WAITING_MAX` requests already wait, if the time limit is
   *   reached, or if the server closes. The time limit is the shorter of two times: `HEIGHT_WAIT_MS_MAX`, and the share
   *   `SOCKET_TIMEOUT_SHARE` of the socket timeout
   */
  wait(height: number): Promise<boolean> | boolean {
    if (this.#isThere(height)) return true;
    if (this.#waiting.size >= WAITING_MAX) return false;
    this.#stopListening ??= this.#api.listen({ chainChanged: () => this.#look() });
    return new Promise((resolve) => {
      const waiter: Waiter = {
        height,
        timer: this.#clock.after(this.#waitMsMax, () => this.#end(waiter, false)),
        resolve,
      };
      this.#waiting.add(waiter);
    });
  }

  close(): void {
    for (const waiter of this.#waiting) this.#end(waiter, false);
  }

  #look(): void {
    for (const waiter of this.#waiting) if (this.#isThere(waiter.height)) this.#end(waiter, true);
  }

  #end(waiter: Waiter, isThere: boolean): void {
    waiter.timer.cancel();
    this.#waiting.delete(waiter);
    waiter.resolve(isThere);
    if (this.#waiting.size > 0) return;
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #isThere(height: number): boolean {
    return (this.#api.chain.tip()?.height ?? 0) >= height;
  }
}

interface Waiter {
  readonly height: number;
  readonly timer: Timer;
  readonly resolve: (isThere: boolean) => void;
}
