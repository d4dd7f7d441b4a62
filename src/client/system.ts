/** The clock of the runtime. This file uses only globals that Node.js and browsers have. */

import type { ClientClock } from './types.ts';

/** `nowMs` counts from the start of the process or page. A change of the system time does not affect `nowMs`. */
export const systemClock: ClientClock = {
  nowMs: () => performance.now(),
  after: (delayMs, work) => {
    const timer = setTimeout(work, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
