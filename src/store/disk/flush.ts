/** Flushes files and folders to the disk, so that the content of the files and folders survives a power cut. */

import { closeSync, fsyncSync, openSync } from 'node:fs';

/**
 * Error codes of a failed flush that the module ignores: the file system cannot flush a folder, or the user has no
 * right to flush the folder.
 */
const UNFLUSHABLE: ReadonlySet<string> = new Set(['EACCES', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM']);

/**
 * Flushes a folder, so that the new name of a file in the folder survives a power cut. Some file systems cannot flush a
 * folder, and some users have no right to flush the folder. In both cases, the function ignores the error, because the
 * file itself is complete.
 */
export function flushNames(directory: string): void {
  try {
    flush(directory);
  } catch (error) {
    if (!UNFLUSHABLE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Flushes a file or a folder to the disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
