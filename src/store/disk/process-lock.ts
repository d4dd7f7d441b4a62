/**
 * Takes locks in a folder. Each lock has a name, and only one process at a time can hold the lock. The holder has a
 * lock file in the folder. The name of this file contains the number and the start time of the holder. The lock file of
 * a killed process therefore does not block a restart: the lock file is stale, because no running process has the
 * process number and the start time in the name of the file. The next process that takes the lock removes the stale
 * lock file. The lock file of each process has a different name. The removal of a stale lock file therefore cannot
 * affect the lock file that another process has just written.
 *
 * Process numbers of different containers cannot be compared, because the first process of each container has number 1.
 * For a lock that several containers use, a process therefore passes a clock to `takeLock`. A process that has passed a
 * clock updates the modification time of its lock file every `TOUCH_MS`, and listens on a socket in the same folder. A
 * lock file of another container is stale if two conditions hold: the file was not updated for `ELSEWHERE_MS_MAX`, and
 * no process listens on the socket of this lock file. If the file system supports sockets, a paused process still
 * listens, so its lock file does not become stale. A lock file that was written before the last restart of the machine
 * is stale, too. A process that passes no clock treats the lock file of another container as stale only after a restart
 * of the machine.
 */

import { existsSync, readdirSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

import type { Clock, Timer } from '../../ports/clock.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { isHolderListening, listenAsHolder } from './holder-socket.ts';
import { startOf } from './process-start.ts';

export interface ProcessLock {
  /**
   * True while the lock file of this lock exists. On a file system without sockets, this process can lose the lock: if
   * this process pauses for longer than `ELSEWHERE_MS_MAX`, a process of another container can remove the lock file and
   * take the lock.
   */
  isHeld(): boolean;
  release(): void;
}

const TOUCH_MS = 5_000;
/**
 * Time in milliseconds for which a lock file of another container stays valid after its last update, even if no process
 * listens on its socket. The time is longer than `TOUCH_MS`, because a busy process sometimes updates its lock file
 * late.
 */
const ELSEWHERE_MS_MAX = 30_000;

/**
 * Pattern for the part of a lock file's name that follows the name of the lock and a dot. The pattern matches the
 * process number and the start of the process (see `startOf`). If the name also contains the number of the PID
 * namespace, the pattern matches this number, too.
 */
const OWNER = /^(\d+)\.([0-9a-z]+(?:-\d+)?)(?:-in(\d+))?$/;

/**
 * Paths of the lock files that this process holds now. A file in the folder does not prove that this process holds the
 * lock. The reason: if the system reports no start time, the name of a lock file contains `unknown` instead of the
 * start time. In this case, perhaps an earlier process with the same process number has left a file with the same name.
 */
const ownLockFiles = new Set<string>();

/**
 * Takes the lock. The function first writes its own lock file, and then looks for other lock files. If several
 * processes call the function at the same time, at most one call succeeds. It is possible that all of these calls fail.
 *
 * @param directory an existing folder
 * @param name name of the lock. A lock file is named `<name>.<process number>.<start of the process>`. The name also
 *   ends with `-in<number of the PID namespace>` if the caller passes a clock and the system reports a PID namespace
 * @param clock clock of this process. A clock is necessary for a lock in a folder that several containers share.
 *   Without a clock, the lock file does not protect against processes of other containers, because these processes can
 *   treat the lock file as stale, and remove the lock file
 * @throws ProtocolError `LOCKED` while a living process (this process included) holds the lock. If the holder was a
 *   process of another container and was killed, the function still throws this error for up to `ELSEWHERE_MS_MAX`
 *   after the last update of the holder's lock file. If the caller passes no clock, the function throws this error
 *   until a restart of the machine. The `data` of the error has `directory`, `name`, `pid` (process number of the
 *   holder) and `owner` (text that names the holder, such as `process 123`). The function throws a system error if the
 *   lock file cannot be written or the folder cannot be read
 */
export function takeLock(directory: string, name: string, clock?: Clock): ProcessLock {
  const here = clock === undefined || NUMBERED_IN === undefined ? '' : `-in${NUMBERED_IN}`;
  const file = resolve(directory, `${name}.${process.pid}.${startOf(process.pid) ?? 'unknown'}${here}`);
  if (ownLockFiles.has(file)) throw locked(directory, name, { pid: process.pid, isElsewhere: false });
  writeFileSync(file, '');
  ownLockFiles.add(file);
  const stopTouching = clock === undefined ? undefined : keepTouching(file, clock);
  const socket = clock === undefined ? undefined : listenAsHolder(resolve(directory), socketOf(file));
  const release = (): void => {
    stopTouching?.();
    socket?.close();
    rmSync(file, { force: true });
    ownLockFiles.delete(file);
  };
  try {
    refuseOthers(directory, name, file, clock);
  } catch (error) {
    release();
    throw error;
  }
  return { isHeld: () => ownLockFiles.has(file) && existsSync(file), release };
}

/**
 * Returns a text that names the process that holds the lock, such as `process 123`. The result is undefined if there is
 * no lock file, or if all lock files are stale. The function changes no files.
 *
 * @param clock clock of this process; without a clock, a lock file of another container counts as stale only after a
 *   restart of the machine
 */
export function ownerOf(directory: string, name: string, clock: Clock | undefined): string | undefined {
  return wordsForFirst(lockFilesIn(directory, name, clock));
}

/**
 * Returns the same text as `ownerOf` if the holder is a process of another container. Returns undefined if the holder
 * is a process of this container, or if `ownerOf` returns undefined.
 */
export function ownerElsewhere(directory: string, name: string, clock: Clock): string | undefined {
  return wordsForFirst(lockFilesIn(directory, name, clock).filter(({ isElsewhere }) => isElsewhere));
}

function wordsForFirst(lockFiles: readonly LockFile[]): string | undefined {
  const owner = lockFiles.find(({ isHeld }) => isHeld);
  return owner === undefined ? undefined : wordsFor(owner);
}

/**
 * Removes stale lock files of other processes. If the function finds a lock file of another process that is not stale,
 * it throws an error.
 */
function refuseOthers(directory: string, name: string, ownFile: string, clock: Clock | undefined): void {
  for (const lockFile of lockFilesIn(directory, name, clock)) {
    if (resolve(lockFile.file) === ownFile) continue;
    if (lockFile.isHeld) throw locked(directory, name, lockFile);
    rmSync(lockFile.file, { force: true });
    rmSync(join(directory, socketOf(lockFile.file)), { force: true });
  }
}

interface Owner {
  readonly pid: number;
  readonly isElsewhere: boolean;
}

interface LockFile extends Owner {
  readonly file: string;
  readonly isHeld: boolean;
}

function lockFilesIn(directory: string, name: string, clock: Clock | undefined): readonly LockFile[] {
  return readdirSync(directory).flatMap((entry) => {
    const match = entry.startsWith(`${name}.`) ? OWNER.exec(entry.slice(name.length + 1)) : null;
    if (match === null) return [];
    const [, number, start = '', numberedIn] = match;
    const pid = Number(number);
    const file = join(directory, entry);
    const isElsewhere = numberedIn !== undefined && numberedIn !== NUMBERED_IN;
    const isHeld = isElsewhere
      ? isOfThisBoot(start) && (isTouched(file, clock) || isHolderListening(directory, socketOf(file)))
      : isAlive(pid) && (startOf(pid) ?? start) === start;
    return [{ file, pid, isElsewhere, isHeld }];
  });
}

function locked(directory: string, name: string, by: Owner): ProtocolError {
  const owner = wordsFor(by);
  return new ProtocolError(
    'LOCKED',
    { directory, name, pid: by.pid, owner },
    `${join(directory, name)}: in use by ${owner}`,
  );
}

function wordsFor({ pid, isElsewhere }: Owner): string {
  if (!isElsewhere) return `process ${pid}`;
  return `process ${pid} of another container (a killed process keeps its lock file for ${ELSEWHERE_MS_MAX / 1000} s, a paused process until it ends)`;
}

/** Returns the name of the socket beside a lock file. */
function socketOf(lockFile: string): string {
  return `${basename(lockFile)}.sock`;
}

/**
 * Updates the modification time of the lock file every `TOUCH_MS`.
 *
 * @returns a function that ends the updates
 */
function keepTouching(file: string, clock: Clock): () => void {
  let timer: Timer;
  const touch = (): void => {
    try {
      utimesSync(file, clock.nowMs() / 1000, clock.nowMs() / 1000);
    } catch {
      // The code ignores a failed update. If the lock file is gone, `isHeld` returns false. If the disk fails, other
      // writes report the failure.
    }
    timer = clock.after(TOUCH_MS, touch);
  };
  touch();
  return () => timer.cancel();
}

function isTouched(file: string, clock: Clock | undefined): boolean {
  try {
    // A time far in the past or far in the future does not count as a recent update. A time in the future means that
    // the clock was set back. If the holder were alive, it would have updated its lock file after this change of the
    // clock.
    return clock === undefined || Math.abs(clock.nowMs() - statSync(file).mtimeMs) < ELSEWHERE_MS_MAX;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The code EPERM means that the process is alive and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Number of the PID namespace, which differs between containers; undefined if the system reports no namespace. */
const NUMBERED_IN = numberedIn();

function numberedIn(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

function isOfThisBoot(start: string): boolean {
  return start.split('-')[0] === startOf(process.pid)?.split('-')[0];
}
