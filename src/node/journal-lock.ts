/** The lock of the signing journal (`journal-file.ts`): at most one process writes to a journal. */

import { basename, dirname } from 'node:path';
import { ProtocolError } from '../primitives/errors.ts';
import { ownerOf, takeLock, type ProcessLock } from '../store/disk/process-lock.ts';
import { systemClock } from './system.ts';

/** Returns a text that names the process that uses a journal; undefined when no process uses the journal. */
export function journalOwner(file: string): string | undefined {
  return ownerOf(dirname(file), lockNameOf(file), systemClock);
}

/** Returns the name of the lock file of the journal, in the journal's folder. */
function lockNameOf(file: string): string {
  return `${basename(file)}.in-use`;
}

/** @throws ProtocolError `JOURNAL_IN_USE` while another process uses the journal */
export function lockJournal(file: string): ProcessLock {
  try {
    return takeLock(dirname(file), lockNameOf(file), systemClock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    throw new ProtocolError(
      'JOURNAL_IN_USE',
      { file, pid: error.data['pid'] },
      `${file}: in use by ${String(error.data['owner'])}, and two nodes must not forge from one data folder: ` +
        'stop that process, or choose another folder with --data-dir',
      { cause: error },
    );
  }
}

/** Returns the error for a write that this process tries after it has lost the lock. */
export function takenOver(file: string): ProtocolError {
  return new ProtocolError(
    'JOURNAL_TAKEN_OVER',
    { file },
    `${file}: the lock of this process is gone, so the node must not sign: another process took over the folder while this ` +
      'process was suspended, or a user removed the lock file; stop this process, and start it again when no other process uses ' +
      'the folder',
  );
}
