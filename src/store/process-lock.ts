/**
 * One process per folder, or per thing in it that has a name. A claim is a file named after its process, so a claim left by
 * a killed process is recognised and never blocks a restart: its process number is gone, waits for its parent to notice, or
 * belongs to a process that started at another moment; and what is removed as stale is never a claim made since.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { ProtocolError } from '../primitives/errors.ts';

export interface ProcessLock {
  release(): void;
}

/** Start of the process behind a claim, after its number. */
const OWNER = /^(\d+)\.([0-9a-z-]+)$/;

/** Claims of this very process: a claim in its name that it does not know was left by an earlier one with its number. */
const ownClaims = new Set<string>();

/**
 * Claims first and looks for other claims second: of processes that start at once several may be refused, but never are
 * two let in.
 *
 * @param directory a folder that exists
 * @param name what is claimed in it: claims are files `<name>.<process number>.<its start>`
 * @throws ProtocolError `LOCKED` with `directory`, `name` and the owner's `pid` while a living process holds it; what writing
 *   the claim throws
 */
export function takeLock(directory: string, name: string): ProcessLock {
  const file = resolve(directory, `${name}.${process.pid}.${startOf(process.pid) ?? 'unknown'}`);
  if (ownClaims.has(file)) throw locked(directory, name, process.pid);
  writeFileSync(file, '');
  ownClaims.add(file);
  const release = (): void => {
    rmSync(file, { force: true });
    ownClaims.delete(file);
  };
  try {
    refuseOthers(directory, name, file);
  } catch (error) {
    release();
    throw error;
  }
  return { release };
}

/** Removes stale claims on the way. */
function refuseOthers(directory: string, name: string, ownFile: string): void {
  for (const entry of readdirSync(directory)) {
    if (!entry.startsWith(`${name}.`) || resolve(directory, entry) === ownFile) continue;
    const match = OWNER.exec(entry.slice(name.length + 1));
    if (match === null) continue;
    const pid = Number(match[1]);
    if (isAlive(pid) && (startOf(pid) ?? match[2]) === match[2]) throw locked(directory, name, pid);
    rmSync(join(directory, entry), { force: true });
  }
}

function locked(directory: string, name: string, pid: number): ProtocolError {
  return new ProtocolError('LOCKED', { directory, name, pid }, `${join(directory, name)}: in use by process ${pid}`);
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
