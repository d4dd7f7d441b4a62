/** Copies a store. The copy shows the store at one moment, even if a node writes to the store during the copy. */

import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { DATA_FILE } from './data-file.ts';
import { closeInTurn, openForReading } from './environment.ts';
import { flush } from './flush.ts';
import { makeFolder } from './folder.ts';

/**
 * Copies the store in a folder into a new folder. When the promise resolves, the whole copy has reached the disk. The
 * copy contains no free pages, so the file of the copy can be smaller than the file of the store.
 *
 * @param clock clock with which the function finds out whether a process of another container uses the store
 * @throws ProtocolError in the same cases as `openForReading` (for example `STORE_MISSING`) if the store cannot be
 *   opened; `STORE_COPY_FAILED` with the reason if the copy fails
 */
export async function copyStore(directory: string, target: string, clock?: Clock): Promise<void> {
  const environment = openForReading(directory, clock);
  try {
    try {
      makeFolder(target);
      await environment.backup(`${target}/`, true);
    } finally {
      await closeInTurn(environment, directory);
    }
    flushStore(target);
  } catch (error) {
    const reason = messageOf(error);
    throw new ProtocolError(
      'STORE_COPY_FAILED',
      { directory, target, reason },
      `the chain store in ${directory} could not be copied to ${target}: ${reason}: does the disk have enough free space?`,
      { cause: error },
    );
  }
}

/**
 * Flushes the data file of a store and its folder to the disk. During this call, no process is allowed to have the
 * store open for writing.
 */
export function flushStore(directory: string): void {
  for (const path of [join(directory, DATA_FILE), directory]) flush(path);
}
