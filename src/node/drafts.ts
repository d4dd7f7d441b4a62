/**
 * What a command writes before it is whole: folders and files that must not stay behind when the command ends early. A signal
 * ends a process without its `finally` blocks, so what handles signals asks here.
 */

import { rmSync } from 'node:fs';

const drafts = new Set<string>();

/**
 * Names a file or folder that is a draft until the function that this returns removes it; what is to stay must have been renamed
 * before.
 */
export function beginDraft(path: string): () => void {
  drafts.add(path);
  return () => {
    remove(path);
    drafts.delete(path);
  };
}

/** Removes what an earlier run left at the paths, calls `work`, and removes what is there then. */
export async function withDrafts<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
  for (const path of paths) remove(path);
  const ends = paths.map(beginDraft);
  try {
    return await work();
  } finally {
    for (const end of ends) end();
  }
}

/** Removes all drafts of this process, before it ends. @returns how many there were */
export function removeDrafts(): number {
  for (const path of drafts) remove(path);
  const { size } = drafts;
  drafts.clear();
  return size;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
