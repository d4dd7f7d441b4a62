/**
 * Handles live values, which are data of the running node. In the node's own process, a live value is in memory. A
 * reading process (which answers HTTP for the node) must request a live value from the node, and gets a promise of the
 * value.
 */

import type { Live } from '../ports/node-api.ts';

/**
 * Calls `use` with the value of `live`. If `live` is not a promise, the call and its result are synchronous, so that
 * the caller can answer immediately.
 */
export function withLive<T, R>(live: Live<T>, use: (value: T) => R): R | Promise<R> {
  return live instanceof Promise ? live.then(use) : use(live);
}
