/** Values that the process of the node has at once, and that a process beside it is answered later. */

import type { Live } from '../ports/node-api.ts';

/** Uses a value: at once where it is there, so that an answer takes no turn of the event loop more than it needs. */
export function withLive<T, R>(live: Live<T>, use: (value: T) => R): R | Promise<R> {
  return live instanceof Promise ? live.then(use) : use(live);
}
