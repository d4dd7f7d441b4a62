/**
 * Calls a function before each write to files below a folder. With this function, a test can stop a Parquet sink
 * between any two of its writes, as if the process of the sink had been killed. Opening a file is not a write: if the
 * function throws before the first write to a new file, the empty file remains. The module covers the functions of
 * `node:fs/promises`, but not streams, and not the synchronous functions of `node:fs`.
 */

import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { sep } from 'node:path';

type AnyFunction = (...args: readonly unknown[]) => Promise<unknown>;
type Functions = Record<string, AnyFunction>;

const WRITES = [
  'appendFile',
  'copyFile',
  'cp',
  'link',
  'mkdir',
  'rename',
  'rm',
  'rmdir',
  'truncate',
  'unlink',
  'writeFile',
];
const WRITES_OF_OPEN_FILE = ['appendFile', 'truncate', 'write', 'writeFile', 'writev'];

const watched = new Map<string, () => Promise<void>>();
let isReplaced = false;

/**
 * Sets the function to call before each write below a folder. Each folder has at most one function: the last one set.
 *
 * @param before the function; undefined to stop the calls for this folder. If the function throws, the write fails with
 *   the same error and changes nothing.
 */
export function watchDiskWrites(folder: string, before: (() => Promise<void>) | undefined): void {
  if (before === undefined) watched.delete(folder);
  else watched.set(folder, before);
  if (!isReplaced) replaceFunctions();
  isReplaced = true;
}

function replaceFunctions(): void {
  const functions = fs as unknown as Functions;
  for (const name of WRITES) functions[name] = afterWatcher(functions[name] as AnyFunction);
  const open = fs.open.bind(fs);
  fs.open = async (path, flags, mode) => watchedFile(await open(path, flags, mode), path);
  syncBuiltinESMExports();
}

function afterWatcher(write: AnyFunction): AnyFunction {
  return async (...args) => {
    await send(args);
    return write(...args);
  };
}

function watchedFile(file: FileHandle, path: unknown): FileHandle {
  const functions = file as unknown as Functions;
  for (const name of WRITES_OF_OPEN_FILE) {
    const write = (functions[name] as AnyFunction).bind(file);
    functions[name] = async (...args) => {
      await send([path]);
      return write(...args);
    };
  }
  return file;
}

async function send(args: readonly unknown[]): Promise<void> {
  for (const [folder, before] of watched) {
    const isBelow = (path: unknown): boolean =>
      typeof path === 'string' && (path === folder || path.startsWith(`${folder}${sep}`));
    if (args.some(isBelow)) await before();
  }
}
