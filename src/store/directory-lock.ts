/**
 * One process per folder. The claim is a file named after the process, so a claim left by a killed process is recognised
 * and never blocks a restart: its process number is gone, or belongs to a process that started at another moment.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { messageOf, ProtocolError } from '../primitives/errors.ts';

const CLAIM = /^in-use\.(\d+)\.([0-9a-z-]+)$/;

/** Claims of this very process: a claim in its name that it does not know was left by an earlier one with its number. */
const ownClaims = new Set<string>();

export class DirectoryLock {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /**
   * Claims the folder first and looks for other claims second: two processes that start at once may both be refused, but
   * never both be let in.
   *
   * @throws ProtocolError `STORE_IN_USE` naming the process, `STORE_UNREADABLE` when the folder cannot be written
   */
  static acquire(directory: string): DirectoryLock {
    const file = resolve(directory, `in-use.${process.pid}.${startOf(process.pid) ?? 'unknown'}`);
    if (ownClaims.has(file)) throw inUse(directory, process.pid);
    try {
      writeFileSync(file, '');
    } catch (error) {
      throw new ProtocolError(
        'STORE_UNREADABLE',
        { directory },
        `The chain store in ${directory} cannot be opened for writing: ${messageOf(error)}.`,
        { cause: error },
      );
    }
    ownClaims.add(file);
    const lock = new DirectoryLock(file);
    for (const name of readdirSync(directory)) {
      const match = CLAIM.exec(name);
      if (match === null || resolve(directory, name) === file) continue;
      const pid = Number(match[1]);
      if (isAlive(pid) && (startOf(pid) ?? match[2]) === match[2]) {
        lock.release();
        throw inUse(directory, pid);
      }
      rmSync(join(directory, name), { force: true });
    }
    return lock;
  }

  release(): void {
    rmSync(this.#file, { force: true });
    ownClaims.delete(this.#file);
  }
}

function inUse(directory: string, pid: number): ProtocolError {
  return new ProtocolError(
    'STORE_IN_USE',
    { directory, pid },
    `The chain store in ${directory} is in use by process ${pid}. Stop that process, or give this node another data directory.`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When the process started: boot of the machine and clock ticks since; `ended` for one that was killed and waits for its
 * parent to notice. Undefined where the system does not tell.
 */
function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may hold spaces: fields are counted from the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return 'ended';
    return fields[19] === undefined ? undefined : `${boot}-${fields[19]}`;
  } catch {
    return undefined;
  }
}
