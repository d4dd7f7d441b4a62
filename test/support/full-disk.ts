/** A disk without module, for one process. */

import { execFileSync } from 'node:child_process';

/**
 * Lets no file of a process grow beyond a size, so that writes fail as they do on a full disk; files that are smaller go on.
 * Linux alone.
 *
 * @param bytesMax undefined for as much as there is
 */
export function limitFileSize(pid: number, bytesMax: number | undefined): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytesMax ?? 'unlimited'}:`]);
}
