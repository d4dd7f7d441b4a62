/**
 * Reads the start time, the state and the parent of a process. The start time distinguishes two processes with the same
 * process number.
 */

import { readFileSync } from 'node:fs';

/**
 * Returns a text that identifies the start of a process: the first eight characters of the machine's boot id, the
 * character `-`, and the number of clock ticks from the boot of the machine to the start of the process. The result is
 * `ended` for a zombie process. The result is undefined if no process has this number, or if the system has no `/proc`.
 */
export function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    const fields = statOf(pid);
    if (isZombie(fields)) return 'ended';
    return fields[19] === undefined ? undefined : `${boot}-${fields[19]}`;
  } catch {
    return undefined;
  }
}

/**
 * Returns true if a process is ending but still has threads. The main thread of such a process has ended, so the system
 * reports the process as a zombie. The other threads still hold the files and ports of the process.
 */
export function isEnding(pid: number): boolean {
  try {
    return isEndingIn(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * Returns true under the same condition as `isEnding`, for the process that `stat` describes.
 *
 * @param stat content of `/proc/<pid>/stat`
 */
export function isEndingIn(stat: string): boolean {
  const fields = fieldsOf(stat);
  return isZombie(fields) && Number(fields[17]) > 1;
}

function isZombie([state]: readonly string[]): boolean {
  return state === 'Z' || state === 'X';
}

/** Returns the process number of the parent of a process; undefined if no process has the number `pid`. */
export function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return undefined;
  }
}

/** Fields of `/proc/<pid>/stat` from the third on. @throws a system error if no process has the number `pid` */
function statOf(pid: number): readonly string[] {
  return fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** @returns the fields of `/proc/<pid>/stat` from the third on */
function fieldsOf(stat: string): readonly string[] {
  // The second field is the program's name in parentheses. The program's name can contain spaces and parentheses, so
  // the code splits only the text after the last parenthesis.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
