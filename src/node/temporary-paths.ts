/**
 * Removes drafts when a command ends early. Drafts are unfinished files and folders of a command. A signal ends a
 * process without its `finally` blocks, so the signal handlers call `removeTemporaryPaths`.
 */

import { rmSync } from 'node:fs';

const drafts = new Set<string>();

/**
 * Registers a file or folder as a draft. The returned function removes the draft. To keep the content, rename the draft
 * before this call.
 */
export function registerTemporary(path: string): () => void {
  drafts.add(path);
  return () => {
    remove(path);
    drafts.delete(path);
  };
}

/**
 * Calls `work`, and removes the files and folders at the paths before and after the call. An earlier run may have left
 * files in the folder.
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

/** Removes all drafts before this process ends. @returns number of drafts */
export function removeTemporaryPaths(): number {
  for (const path of drafts) remove(path);
  const { size } = drafts;
  drafts.clear();
  return size;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
