/** Simulates a full disk for one process, without a kernel module. */

import { execFileSync } from 'node:child_process';

/**
 * Limits the size of each file that a process writes. Writes beyond the limit fail with EFBIG, which the node treats
 * like a full disk. Writes within the limit succeed. Linux only.
 *
 * @param bytesMax undefined for no limit
 */
export function limitFileSize(pid: number, bytesMax: number | undefined): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytesMax ?? 'unlimited'}:`]);
}
