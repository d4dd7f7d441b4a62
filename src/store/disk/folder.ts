/** Making folders, and asking whether there is room in them. */

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
 * Makes a folder and those above it that are missing. The recursive `mkdir` of Node does not return where the system says of a
 * new folder in one that is there that it does not exist, as under `/proc`.
 *
 * @throws ProtocolError `FOLDER_IMPOSSIBLE` there, and for a link that leads nowhere; else what `mkdir` throws, as `EEXIST` for a file in its place
 */
export function makeFolder(directory: string): void {
  const missing: string[] = [];
  let folder = resolve(directory);
  while (!existsSync(folder) && dirname(folder) !== folder) {
    missing.push(folder);
    folder = dirname(folder);
  }
  if (missing.length === 0) missing.push(folder);
  for (const each of missing.reverse()) makeOne(each);
}

/** As much as files of fixed size, which the database maps into memory, take at first. */
const ROOM_BYTES = 64 * 1024;

/**
 * Tries to write to a folder. Where a mapped file finds no room the system ends the process with a signal, so it is asked first.
 *
 * @param bytes how much there should be room for
 * @throws Error of the system, as `ENOSPC`
 */
export function checkRoom(directory: string, bytes = ROOM_BYTES): void {
  const file = join(directory, `.module.${process.pid}`);
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

function makeOne(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Made by another process meanwhile, or there before.
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
