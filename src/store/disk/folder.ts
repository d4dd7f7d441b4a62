/** Creates folders, and checks that a folder has free space. */

import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { ProtocolError } from '../../primitives/errors.ts';

/**
 * Creates a folder and all missing folders above it. This function replaces the recursive `mkdir` of Node. The
 * recursive `mkdir` never returns if the system reports ENOENT for a new folder below an existing folder (for example
 * below `/proc`).
 *
 * @param mode permissions of the folders that are created
 * @throws ProtocolError `FOLDER_IMPOSSIBLE` if the system reports ENOENT, or if the path is a symbolic link without a
 *   target. In all other cases, the function throws the error of `mkdir`, for example `EEXIST` if a file has the path
 *   of the folder
 */
export function makeFolder(directory: string, mode = 0o777): void {
  const missing: string[] = [];
  let folder = resolve(directory);
  while (!existsSync(folder) && dirname(folder) !== folder) {
    missing.push(folder);
    folder = dirname(folder);
  }
  if (missing.length === 0) missing.push(folder);
  for (const each of missing.reverse()) makeOne(each, mode);
}

/**
 * Number of bytes that must be free on the disk before LMDB opens a database. The new files that LMDB creates and maps
 * into memory take less space.
 */
const ROOM_BYTES = 64 * 1024;

/**
 * Checks that a folder has free space by writing a file into it. If the disk had no space for a file that is mapped
 * into memory, the system would end the process with a signal.
 *
 * @param bytes number of bytes that must be free
 * @throws Error of the operating system, for example `ENOSPC`
 */
export function checkRoom(directory: string, bytes = ROOM_BYTES): void {
  const file = join(directory, `.space.${process.pid}`);
  try {
    const descriptor = openSync(file, 'w', 0o600);
    try {
      writeFileSync(descriptor, Buffer.alloc(bytes));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } finally {
    rmSync(file, { force: true });
  }
}

function makeOne(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // In this case, the folder existed before this call, or another process created the folder during this call.
    if (code === 'EEXIST' && isFolder(directory)) return;
    if (code === 'EEXIST' && isDeadLink(directory)) {
      const message = `${directory} is a link that leads to nothing, or to itself: remove it, or choose another place`;
      throw new ProtocolError('FOLDER_IMPOSSIBLE', { directory }, message, { cause: error });
    }
    if (code !== 'ENOENT') throw error;
    throw new ProtocolError(
      'FOLDER_IMPOSSIBLE',
      { directory },
      `${directory}: no folder can be made there: choose another place`,
      { cause: error },
    );
  }
}

function isDeadLink(path: string): boolean {
  return !existsSync(path) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
