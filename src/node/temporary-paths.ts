/**
 * Removes the temporary files and folders of a command, also when a signal ends the command early. A process that a
 * signal ends does not run its `finally` blocks, so the signal handlers call `removeTemporaryPaths`.
 */

import { rmSync } from 'node:fs';

const temporary = new Set<string>();

/**
 * Registers a temporary file or folder. The returned function removes the file or folder. To keep the content, rename
 * the file or folder before you call the returned function.
 */
export function registerTemporary(path: string): () => void {
  temporary.add(path);
  return () => {
    remove(path);
    temporary.delete(path);
  };
}

/**
 * Calls `work`, and removes the files and folders at the paths before and after the call. The removal before the call
 * is for files that an earlier, killed run of the command has left.
 */
export async function withTemporaryPaths<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
  for (const path of paths) remove(path);
  const ends = paths.map(registerTemporary);
  try {
    return await work();
  } finally {
    for (const end of ends) end();
  }
}

/** Removes all registered files and folders. Call the function before the process ends. @returns their number */
export function removeTemporaryPaths(): number {
  for (const path of temporary) remove(path);
  const { size } = temporary;
  temporary.clear();
  return size;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
