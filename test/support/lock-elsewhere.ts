import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '../../src/node/system.ts';
import { takeLock } from '../../src/store/disk/process-lock.ts';

/**
 * Writes a lock file of a process in another container, with the same process id as this process.
 *
 * @param touchedMsAgo age of the lock file in milliseconds; the lock file of a killed or paused process is old
 * @returns path of the lock file
 */
export function lockElsewhere(directory: string, name: string, touchedMsAgo = 0): string {
  const own = takeLock(directory, name, systemClock);
  const lockFile = readdirSync(directory).find((entry) => entry.startsWith(`${name}.${process.pid}.`)) ?? '';
  own.release();
  const file = join(directory, lockFile.replace(/-in\d+$/, '-in1'));
  writeFileSync(file, '');
  const touched = new Date(Date.now() - touchedMsAgo);
  utimesSync(file, touched, touched);
  return file;
}
