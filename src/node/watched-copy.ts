/** Copying a store with a word now and then of how far it is: the library tells nothing, but the copy grows. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import { copyStore } from '../store/disk/copy.ts';
import { DATA_FILE } from '../store/disk/data-file.ts';

/** How far a copy of a chain is. */
export interface CopyProgress {
  readonly step: 'copying the chain' | 'checking the copy' | 'writing the snapshot';
  /** 0 to 1; undefined for what takes as long as it takes. */
  readonly fraction?: number;
}

const LOOK_INTERVAL_MS = 200;

/** @throws ProtocolError as `copyStore` */
export async function copyWatched(
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
  } finally {
    clearInterval(timer);
  }
}

/** Undefined while either is not there. A copy has no free pages, so that the end may come before the whole. */
function shareOf(copy: string, original: string): number | undefined {
  const [done, whole] = [copy, original].map((folder) => sizeOf(join(folder, DATA_FILE)));
  return done === undefined || whole === undefined || whole === 0 ? undefined : done / whole;
}

/** Bytes of a file; undefined without one. */
export function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}
