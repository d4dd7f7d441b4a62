/**
 * Makes the errors for a folder whose store cannot be opened, read or written. Each error contains the reason. Each
 * error also contains a remedy, with the exception of `STORE_MISSING`.
 */

import { messageOf, ProtocolError } from '../../primitives/errors.ts';

/** Error codes for a full disk, an exhausted quota and a file that is too large. */
const ROOM_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Turns a system error about writing to the store's folder into `STORE_NOT_ALLOWED` or `STORE_WRITE_FAILED`. */
export function refusalToWrite(directory: string, error: unknown): ProtocolError {
  const { code } = error as NodeJS.ErrnoException;
  if (isMissingRight(error)) return storeNotAllowed(directory, 'write to', directory, error);
  const instead = 'or give this node another data folder';
  if (isReadOnlyMedium(error)) {
    return new ProtocolError(
      'STORE_NOT_ALLOWED',
      { directory },
      `The chain store in ${directory} cannot be written to: its file system is read-only. Mount it for writing, ${instead}.`,
      { cause: error },
    );
  }
  const remedy = ROOM_CODES.has(code ?? '') ? 'Make room on its disk' : 'Check the health of its disk';
  return new ProtocolError(
    'STORE_WRITE_FAILED',
    { directory },
    `The chain store in ${directory} cannot be written: ${messageOf(error)}. ${remedy}, ${instead}.`,
    { cause: error },
  );
}

/** Turns a system error about reading the store's folder or files into `STORE_NOT_ALLOWED` or `STORE_UNREADABLE`. */
export function refusalOf(directory: string, error: unknown): ProtocolError {
  const { path = directory } = error as NodeJS.ErrnoException;
  return isMissingRight(error)
    ? storeNotAllowed(directory, 'read', path, error)
    : storeUnreadable(directory, messageOf(error), error);
}

export function isMissingRight(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM';
}

export function storeMissing(directory: string): ProtocolError {
  return new ProtocolError('STORE_MISSING', { directory }, `There is no chain store in ${directory}.`);
}

export function storeNotAllowed(
  directory: string,
  what: 'read' | 'write to',
  path: string,
  cause: unknown,
): ProtocolError {
  return new ProtocolError(
    'STORE_NOT_ALLOWED',
    { directory, path },
    `The chain store in ${directory} cannot be opened: this user may not ${what} ${path}. Run the command as the user ` +
      'that runs the node, or give that user the folder and all in it (chown).',
    { cause },
  );
}

/** True for LMDB errors that a damaged page can cause. False for all other errors, such as `MDB_READERS_FULL`. */
export function isDamage(error: unknown): boolean {
  return /MDB_(CORRUPTED|INVALID|PAGE_NOTFOUND|BAD_TXN|PANIC|CURSOR_FULL|PAGE_FULL|TXN_FULL)/.test(messageOf(error));
}

/** Creates the error for a store with damaged content. */
export function storeDamaged(directory: string, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_DAMAGED',
    { directory, why },
    `The chain store in ${directory} is damaged: ${why}. Restore it from a backup or a snapshot, or remove the folder and let ` +
      'the node download the chain again; check the health of its disk first.',
    cause === undefined ? undefined : { cause },
  );
}

/** Creates the error for a store that cannot be read, for example because the data file is not an LMDB file. */
export function storeUnreadable(directory: string, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_UNREADABLE',
    { directory },
    `The chain store in ${directory} cannot be read: ${why}. Restore it from a backup, or remove the folder and let the node ` +
      'download the chain again.',
    cause === undefined ? undefined : { cause },
  );
}

export function isReadOnlyMedium(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EROFS';
}
