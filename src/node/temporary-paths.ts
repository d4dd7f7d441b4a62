/**
 * Removes the temporary files and folders of a command, also when a signal ends the command early. If a signal ends the
 * process, its `finally` blocks do not run. Therefore the signal handlers call `removeTemporaryPaths`.
 */

import { rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { ProtocolError } from '../primitives/errors.ts';
import { makeFolder } from '../store/disk/folder.ts';
import { takeLock, type ProcessLock } from '../store/disk/process-lock.ts';
import { systemClock } from './system.ts';

const temporary = new Set<string>();
/** Locks of the registered paths (`withTemporaryPaths`). */
const locks = new Set<ProcessLock>();

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
 * deletes files that an earlier, killed run of the command left behind. During the call, no other run of the command
 * can use the paths.
 *
 * @throws ProtocolError `OUTPUT_IN_USE` if another process uses one of the paths; errors of the system, and of `work`
 */
export async function withTemporaryPaths<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
  const taken: ProcessLock[] = [];
  const ends: (() => void)[] = [];
  try {
    for (const path of paths) taken.push(lockOf(path));
    for (const path of paths) remove(path);
    ends.push(...paths.map(registerTemporary));
    return await work();
  } finally {
    for (const end of ends) end();
    for (const lock of taken) release(lock);
  }
}

function lockOf(path: string): ProcessLock {
  makeFolder(dirname(path));
  try {
    const lock = takeLock(dirname(path), `${basename(path)}.in-use`, systemClock);
    locks.add(lock);
    return lock;
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw error;
    const message = `${path} is being written by ${String(error.data['owner'])}: wait until that process has ended`;
    throw new ProtocolError('OUTPUT_IN_USE', { path }, message, { cause: error });
  }
}

function release(lock: ProcessLock): void {
  lock.release();
  locks.delete(lock);
}

/** Removes all registered files and folders. Call the function before the process ends. @returns their number */
export function removeTemporaryPaths(): number {
  for (const path of temporary) remove(path);
  const { size } = temporary;
  temporary.clear();
  for (const lock of locks) release(lock);
  return size;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
