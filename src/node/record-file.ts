/** Writes the file of a signing record (`signing-record.ts`). */

import { randomBytes } from 'node:crypto';
import { realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf, ProtocolError } from '../primitives/errors.ts';
import { flushNames } from '../store/disk/flush.ts';
import { writeNewFile } from '../store/disk/new-file.ts';

/**
 * Writes a new file. When the function returns, the file is on the disk.
 *
 * @throws ProtocolError `SIGNING_RECORD_EXISTS` for an existing file; `SIGNING_RECORD_UNWRITABLE`
 */
export function writeNew(file: string, text: string): void {
  try {
    writeNewFile(file, text);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists ? 'exists: choose another file' : `cannot be written: ${messageOf(error)}`;
    const code = exists ? 'SIGNING_RECORD_EXISTS' : 'SIGNING_RECORD_UNWRITABLE';
    throw new ProtocolError(code, { file }, `${file}: ${reason}`, { cause: error });
  }
}

/** Replaces a file atomically. The new text is on the disk when the function returns. */
export function writeInstead(file: string, text: string): void {
  const path = realpathSync(file);
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`;
  writeNew(draft, text);
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  flushNames(dirname(resolve(path)));
}
