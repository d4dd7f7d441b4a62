/** The clock of the runtime. Only standard globals are used, so that the client also runs in browsers. */

import type { ClientClock } from './types.ts';

/** `nowMs` counts from the start of the process or page. A change of the system time does not affect it. */
export const systemClock: ClientClock = {
  nowMs: () => performance.now(),
  after: (delayMs, work) => {
    const timer = setTimeout(work, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
