/**
 * Handles live values, which are data of the running node. The process of the node has these data at once. A reading
 * process must request the data from the node.
 */

import type { Live } from '../ports/node-api.ts';

/**
 * Passes a value to a function. A value that is present is passed at once, so that the answer need not wait for a
 * further iteration of the event loop.
 */
export function withLive<T, R>(live: Live<T>, use: (value: T) => R): R | Promise<R> {
  return live instanceof Promise ? live.then(use) : use(live);
}
