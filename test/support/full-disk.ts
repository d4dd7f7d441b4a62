/** Simulates a full disk for one process, without a kernel module. */

import { execFileSync } from 'node:child_process';

/**
 * Limits the size of each file of a process. Writes beyond the limit fail as on a full disk, while writes to smaller
 * files succeed. Linux only.
 *
 * @param bytesMax undefined for no limit
 */
export function limitFileSize(pid: number, bytesMax: number | undefined): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytesMax ?? 'unlimited'}:`]);
}
