/** Values that the node's process has at once, but that another process must ask for. */

import type { Live } from '../ports/node-api.ts';

/**
 * Uses a value. A value that is present is used at once, so that an answer takes no unnecessary turn of the event loop.
 */
export function withLive<T, R>(live: Live<T>, use: (value: T) => R): R | Promise<R> {
  return live instanceof Promise ? live.then(use) : use(live);
}
