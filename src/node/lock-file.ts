/**
 * A file that says which process owns a folder or file. It is taken over when that process is gone, so a node that was
 * killed starts again without anybody's help.
 */

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { ProtocolError } from '../primitives/errors.ts';

export interface LockFile {
  release(): void;
}

interface Owner {
  readonly pid: number;
  /** Start of the process in clock ticks since boot, where the system tells it: a number may be given out again. */
  readonly started: string;
}

/** Tries against others that take over the same stale lock at this moment. */
const ATTEMPTS_MAX = 20;

/**
 * Takes the lock. Its folder is created when it does not exist.
 *
 * @throws ProtocolError `LOCKED` with `file` and the owner's `pid` while another living process holds it
 */
export function takeLock(file: string): LockFile {
  mkdirSync(dirname(file), { recursive: true });
  const own = JSON.stringify({ pid: process.pid, started: startOf(process.pid) } satisfies Owner);
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, own);
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (linkIfAbsent(draft, file)) return { release: () => rmSync(file, { force: true }) };
      const content = readIfPresent(file);
      if (content === undefined) continue;
      const owner = ownerOf(content);
      if (owner !== undefined && isAlive(owner)) {
        throw new ProtocolError('LOCKED', { file, pid: owner.pid }, `${file}: in use by process ${owner.pid}`);
      }
      setAside(file, content);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new ProtocolError('LOCKED', { file }, `${file}: several processes want it at once`);
}

/** Removes a stale lock, but not one that somebody else put in its place meanwhile. */
function setAside(file: string, staleContent: string): void {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (readIfPresent(aside) !== staleContent) linkIfAbsent(aside, file);
  rmSync(aside, { force: true });
}

function linkIfAbsent(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function ownerOf(content: string): Owner | undefined {
  try {
    const { pid, started } = JSON.parse(content) as Partial<Owner>;
    if (typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && typeof started === 'string') {
      return { pid, started };
    }
  } catch {
    // Torn by a crash of the machine: nobody owns it.
  }
  return undefined;
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return startOf(owner.pid) === owner.started;
}

/** Field 22 of /proc/<pid>/stat; empty where there is no such file. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may itself hold brackets and spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
