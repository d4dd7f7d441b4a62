/** Checks whether a process runs. */

import { existsSync, readFileSync } from 'node:fs';

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // Many containers have no init process that reaps orphans. In such a container, an ended orphan stays in the process
  // list as a zombie.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}
