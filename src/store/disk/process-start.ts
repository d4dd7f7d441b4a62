/**
 * Reads the start time and the parent of a process. The start time distinguishes two processes with the same process
 * id.
 */

import { readFileSync } from 'node:fs';

/**
 * Returns the start of a process: the boot of the machine, and the clock ticks from the boot to the start. The result
 * is `ended` for a zombie process, and undefined if the system reports no start.
 */
export function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    const ticks = startTicksIn(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return ticks === undefined || ticks === 'ended' ? ticks : `${boot}-${ticks}`;
  } catch {
    return undefined;
  }
}

/**
 * Returns the clock ticks from the boot to the start of a process. The result is `ended` for a zombie process, and
 * undefined for an incomplete text.
 *
 * If the main thread of a killed process ends first, the process is in the state of a zombie while its other threads
 * still hold its files and its ports. Such a process has not ended yet.
 *
 * @param stat content of `/proc/<pid>/stat`
 */
export function startTicksIn(stat: string): string | undefined {
  const fields = fieldsOf(stat);
  const isZombie = fields[0] === 'Z' || fields[0] === 'X';
  const threads = Number(fields[17]);
  return isZombie && threads <= 1 ? 'ended' : fields[19];
}

/** Returns the number of the parent of a process; undefined if the process does not run. */
export function parentOf(pid: number): number | undefined {
  try {
    return Number(fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'))[1]);
  } catch {
    return undefined;
  }
}

/** @returns the fields of `/proc/<pid>/stat` from the third on */
function fieldsOf(stat: string): readonly string[] {
  // The second field is the program's name in parentheses. The program's name may contain spaces, so the code counts
  // the fields from the third field on.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
