/** Making folders. */

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { ProtocolError } from '../primitives/errors.ts';

/**
 * Makes a folder and those above it that are missing. The recursive `mkdir` of Node does not return where the system says of a
 * new folder in one that is there that it does not exist, as under `/proc`.
 *
 * @throws ProtocolError `FOLDER_IMPOSSIBLE` there; else what `mkdir` throws, as `EEXIST` for a file in its place
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

function makeOne(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Made by another process meanwhile, or there before.
    if (code === 'EEXIST' && isFolder(directory)) return;
    if (code !== 'ENOENT') throw error;
    throw new ProtocolError(
      'FOLDER_IMPOSSIBLE',
      { directory },
      `${directory}: no folder can be made there: choose another place`,
      { cause: error },
    );
  }
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
