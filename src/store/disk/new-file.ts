/** Writes small files that must not be lost or incomplete, such as a passphrase. */

import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { flushNames } from './flush.ts';

const OWNER_ONLY = 0o600;

/**
 * Writes a new file that only its owner can read. When the function returns, the file and its name are on the disk. If
 * the function throws the error `EEXIST`, a file with this name existed before the call, and is unchanged. If the write
 * fails, the function removes the file. The file can still exist after an error only if its folder cannot be searched,
 * if the removal of the file fails, or if only the last call (`close`) fails.
 *
 * @throws errors of the system
 */
export function writeNewFile(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', OWNER_ONLY);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
    flushNames(dirname(resolve(file)));
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
