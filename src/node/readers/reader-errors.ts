/** Defines the errors for readers (processes that answer HTTP beside the node) that did not become ready. */

import { ProtocolError } from '../../primitives/errors.ts';

/**
 * Signals with which a person or the system ends a process. Other signals, for example SIGSEGV, come from a fault of
 * the reader itself. Such a fault would probably also end the next reader.
 */
const SIGNALS_FROM_OUTSIDE: readonly unknown[] = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/** @param signal signal that ended the reader; null if no signal ended it */
export function notStarted(why: string, signal: NodeJS.Signals | null = null): ProtocolError {
  return new ProtocolError(
    'HTTP_READER_FAILED',
    { why, signal },
    `A process that answers HTTP beside the node did not start: ${why}. Start the node again, or with http.processes 0.`,
  );
}

/** True for an error of `notStarted` whose signal is in `SIGNALS_FROM_OUTSIDE`. */
export function wasKilled(error: unknown): boolean {
  return error instanceof ProtocolError && SIGNALS_FROM_OUTSIDE.includes(error.data['signal']);
}
