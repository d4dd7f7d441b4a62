/** A copy of a store as of one moment, also while a node writes to it. */

import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import { makeFolder } from './folder.ts';
import { openEnvironment } from './lmdb.ts';

const DATA_FILE = 'data.mdb';

/**
 * Copies the store of a folder into another, which is made. The copy is on the disk when this resolves; it holds no free
 * pages, so it may be smaller.
 *
 * @throws ProtocolError `STORE_MISSING` when there is none, `STORE_COPY_FAILED` with the reason
 */
export async function copyStore(directory: string, target: string): Promise<void> {
  if (!existsSync(join(directory, DATA_FILE)))
    throw new ProtocolError('STORE_MISSING', { directory }, `There is no chain store in ${directory}.`);
  try {
    makeFolder(target);
    const environment = openEnvironment(directory, { readOnly: true });
    try {
      await environment.backup(`${target}/`, true);
    } finally {
      await environment.close();
    }
    for (const path of [join(target, DATA_FILE), target]) flush(path);
  } catch (error) {
    const reason = messageOf(error);
    throw new ProtocolError(
      'STORE_COPY_FAILED',
      { directory, target, reason },
      `the chain store in ${directory} could not be copied to ${target}: ${reason}: is there room?`,
      { cause: error },
    );
  }
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
