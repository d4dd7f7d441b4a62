/**
 * Coordinates the processes of one container, or the processes outside of all containers, so that only one of these
 * processes at a time opens or closes the database of a folder. Processes in different containers are not coordinated,
 * because the open lock is taken without a clock (see `takeLock`). Before a process opens or closes the database, the
 * process takes the lock `turn` in the folder (the open lock). This lock is needed because of `lock.mdb`, the lock file
 * of LMDB. The first process that opens a database initialises the locks in `lock.mdb`, and the last process that
 * closes the database removes these locks. If a process opens the database during the removal, the process gets invalid
 * locks, and fails to open the database. After such a failure, the library lmdb 3.5 sooner or later frees the same
 * memory twice, which ends the process with a signal.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import { takeLock, type ProcessLock } from './process-lock.ts';

const LOCK_NAME = 'turn';
/**
 * Longest time for which a process waits for the open lock. Opening usually takes milliseconds, so a process that holds
 * the open lock for this time is probably paused or has a slow disk. After this time, the waiting process continues
 * without the open lock.
 */
const WAIT_MS_MAX = 5_000;
/**
 * Pauses, in milliseconds, between two tries to take the open lock. A process uses these pauses one after another. The
 * pauses differ, so that two waiting processes do not always try at the same time.
 */
const PAUSES_MS = [1, 3, 2, 7, 5];

/**
 * Calls `work` under the open lock, so that no other process opens or closes the database during the work. Only
 * processes in the same container count, or, outside of containers, processes of the same machine. The function
 * releases the lock when `work` returns or throws, so `work` must be synchronous.
 *
 * @param directory folder of the database. `work` runs without the lock if this folder does not exist or is not
 *   writable, or if another process still holds the lock after `waitMsMax` milliseconds
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

/** Blocks the thread, because the caller opens or closes the database in a synchronous call. */
function waitHere(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
