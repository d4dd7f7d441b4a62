/**
 * Copies a store and reports progress. The database library reports no progress, so this module measures the size of
 * the growing copy.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import { copyStore } from '../store/disk/copy.ts';
import { DATA_FILE } from '../store/disk/data-file.ts';

/** Progress of a backup or of a snapshot: the current step, and the finished share of this step. */
export interface CopyProgress {
  readonly step: 'copying the chain' | 'checking the copy' | 'writing the snapshot';
  /** Finished share of the step, from 0 to 1; undefined if the share is unknown. */
  readonly fraction?: number;
}

const LOOK_INTERVAL_MS = 200;

/**
 * Copies the store of a folder into the folder `target`, and reports the progress every `LOOK_INTERVAL_MS`.
 *
 * @throws ProtocolError in the same cases as `copyStore`. If the file system of the target is read-only, the function
 *   throws the error of the system instead, because the error of `copyStore` would wrongly suggest that the disk is
 *   full
 */
export async function copyWithProgress(
  directory: string,
  target: string,
  clock: Clock,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const timer = setInterval(() => {
    const fraction = shareOf(target, directory);
    onProgress({ step: 'copying the chain', ...(fraction === undefined ? {} : { fraction }) });
  }, LOOK_INTERVAL_MS);
  try {
    await copyStore(directory, target, clock);
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    throw cause?.code === 'EROFS' ? cause : error;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the size of the copied data file divided by the size of the original data file; undefined while one of the
 * two files does not exist, or while the original data file is empty. The result can stay below 1 when the copy is
 * complete, because the copy has no free pages.
 */
function shareOf(copy: string, original: string): number | undefined {
  const [done, whole] = [copy, original].map((folder) => sizeOf(join(folder, DATA_FILE)));
  return done === undefined || whole === undefined || whole === 0 ? undefined : done / whole;
}

/** Size of a file in bytes; undefined when the file does not exist. */
export function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}
