/** Claims on a folder as a process of another container makes them. */

import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '../../src/node/system.ts';
import { takeLock } from '../../src/store/disk/process-lock.ts';

/**
 * Claims a thing for a process with the number of this one in a container of its own.
 *
 * @param touchedMsAgo long for one that was killed or paused
 * @returns the file
 */
export function claimElsewhere(directory: string, name: string, touchedMsAgo = 0): string {
  const own = takeLock(directory, name, systemClock);
  const claim = readdirSync(directory).find((entry) => entry.startsWith(`${name}.${process.pid}.`)) ?? '';
  own.release();
  const file = join(directory, claim.replace(/-in\d+$/, '-in1'));
  writeFileSync(file, '');
  const touched = new Date(Date.now() - touchedMsAgo);
  utimesSync(file, touched, touched);
  return file;
}
