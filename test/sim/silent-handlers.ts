/** What a peer without a node behind it does with what it is told: nothing. */

import type { TransportHandlers } from '../../src/ports/transport.ts';

/** @param said what this one does otherwise; without an `answer` it leaves every question open */
export function silentHandlers(said: Partial<TransportHandlers> = {}): TransportHandlers {
  return {
    answer: () => new Promise(() => undefined),
    message: () => undefined,
    connected: () => undefined,
    disconnected: () => undefined,
    updated: () => undefined,
    fault: () => undefined,
    admits: () => true,
    evict: () => undefined,
    ...said,
  };
}
