/** Handlers of a peer without a node behind it. The handlers ignore all messages. */

import type { TransportHandlers } from '../../src/ports/transport.ts';

/** @param handlers handlers that replace the defaults; without `answer`, all requests stay unanswered */
export function silentHandlers(handlers: Partial<TransportHandlers> = {}): TransportHandlers {
  return {
    answer: () => new Promise(() => undefined),
    message: () => undefined,
    connected: () => undefined,
    disconnected: () => undefined,
    updated: () => undefined,
    offence: () => undefined,
    admits: () => true,
    evict: () => undefined,
    ...handlers,
  };
}
