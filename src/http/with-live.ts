/** Handles values that the node's own process has at once. Another process must request these values from the node. */

import type { Live } from '../ports/node-api.ts';

/**
 * Passes a value to a function. A value that is present is passed at once, so that the answer needs no further turn of
 * the event loop.
 */
export function withLive<T, R>(live: Live<T>, use: (value: T) => R): R | Promise<R> {
  return live instanceof Promise ? live.then(use) : use(live);
}
