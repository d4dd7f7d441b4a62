/**
 * Processes open and close the database of a folder one at a time. The library makes its file of locks ready where it opens
 * what nobody has open, and unmakes it where the last process closes; another that opens just then gets locks that are none.
 * Its opening fails, and a failed opening ends the process with a signal sooner or later (lmdb 3.5 frees memory twice).
 */

import { ProtocolError } from '../../primitives/errors.ts';
import { takeLock, type ProcessLock } from './process-lock.ts';

const LOCK_NAME = 'turn';
/** Opening takes milliseconds. Who needs so long was stopped in the middle of it, and nobody waits for that. */
const WAIT_MS_MAX = 5_000;
/** Pauses of different lengths: two processes that saw each other do not meet again at each try. */
const PAUSES_MS = [1, 3, 2, 7, 5];

/**
 * Calls `work`, which must be done when it returns, under the open lock: while no other process opens or closes the database.
 *
 * @param directory a folder that exists; where it cannot be written to there are no locks either
 */
export function withOpenLock<T>(directory: string, work: () => T, waitMsMax = WAIT_MS_MAX): T {
  const lock = takeOpenLock(directory, waitMsMax);
  try {
    return work();
  } finally {
    lock?.release();
  }
}

function takeOpenLock(directory: string, waitMsMax: number): ProcessLock | undefined {
  for (let waitedMs = 0, attempt = process.pid; ; attempt += 1) {
    try {
      return takeLock(directory, LOCK_NAME);
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== 'LOCKED' || waitedMs >= waitMsMax) return undefined;
      const pauseMs = PAUSES_MS[attempt % PAUSES_MS.length] ?? 1;
      waitHere(pauseMs);
      waitedMs += pauseMs;
    }
  }
}

/** Stops the thread: an opening is over before anything else happens. */
function waitHere(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
