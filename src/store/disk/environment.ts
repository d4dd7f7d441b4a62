/**
 * The LMDB environment of a folder: opened for one writer and any number of readers, and refused in words to everybody whom
 * the library would end with a signal, let read what is written over, or believe a damaged file.
 */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { open, type Database } from 'lmdb';

import type { Clock } from '../../ports/clock.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { DATA_FILE, examineDataFile, type DataFile } from './data-file.ts';
import { checkRoom, makeFolder } from './folder.ts';
import { STATE_RANGE } from '../tables/layout.ts';
import { checkPages } from './page-check.ts';
import { ownerElsewhere, ownerOf, takeLock, type ProcessLock } from './process-lock.ts';
import { withOpenLock } from './open-lock.ts';

const LOCKS_FILE = 'lock.mdb';
/** Of the 126 readers that the library makes room for. */
const LOCKS_FILE_BYTES = 8272;
const LOCK_NAME = 'in-use';
const MAP_BYTES = 64 * 2 ** 30;
/** Some 150 ms of a start: all of a small store; a node looks at the rest as it goes. */
const PAGES_CHECKED_BEFORE_WRITING = 25_000;
/** Some 20 s, a small part of what reading so much takes: 16 GB in the usual pages. */
const PAGES_CHECKED_BEFORE_READING = 4_000_000;
/** What the system says where a disk, a user's share of it or a file is full. */
const ROOM_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** An environment that may be written to as long as the claim on its folder is held. */
export interface HeldEnvironment {
  readonly database: Database<Buffer, Buffer>;
  readonly lock: ProcessLock;
}

/** How to open an environment for writing. */
export interface WritingOptions {
  /** Whether to make the folder where it is missing. */
  readonly create: boolean;
  /** False leaves it to the system when the disk gets what was written. */
  readonly durable: boolean;
  /** For a folder that other containers may reach too, as for `takeLock`. */
  readonly clock: Clock | undefined;
  /** Whether this program checked the pages just before, and nobody wrote since. */
  readonly arePagesChecked: boolean;
}

/**
 * Opened for the one process that writes, which has the folder from here on.
 *
 * @throws ProtocolError `STORE_MISSING` when there is none and `create` is false, `STORE_IN_USE` when another process holds it,
 *   `STORE_UNREADABLE` when it is no folder or holds a damaged or foreign file, `STORE_NOT_ALLOWED` when its files are
 *   another user's, `STORE_SHARED` when another folder has the same file, `STORE_WRITE_FAILED` when its disk has no room
 */
export function openForWriting(
  directory: string,
  { create, durable, clock, arePagesChecked }: WritingOptions,
): HeldEnvironment {
  refuseFile(directory);
  if (!create && !hasDataFile(directory)) throw missing(directory);
  try {
    makeFolder(directory);
  } catch (error) {
    // It has nothing to do with what a store holds.
    if (error instanceof ProtocolError) throw error;
    const isOfWriting = isMissingRight(error) || isReadOnlyMedium(error);
    throw isOfWriting ? refusalToWrite(directory, error) : unreadable(directory, messageOf(error), error);
  }
  const lock = lockOf(directory, clock);
  try {
    refuseFullDisk(directory);
    const database = withOpenLock(directory, () => {
      refuseForeignFiles(directory, [DATA_FILE, LOCKS_FILE]);
      prepareLocksFile(directory);
      refuseSharedFile(directory);
      const isWhole = refuseDamagedFile(directory) === 'whole';
      if (isWhole && !arePagesChecked) refuseDamagedPages(directory, PAGES_CHECKED_BEFORE_WRITING);
      return openEnvironment(directory, { noSync: !durable });
    });
    return { database, lock };
  } catch (error) {
    lock.release();
    throw error instanceof ProtocolError ? error : unreadable(directory, messageOf(error), error);
  }
}

/** Asks the system for rights to a path, as `accessSync`. */
type Access = (path: string, mode: number) => void;

/**
 * Opens the environment for reading, also while another process holds the folder.
 *
 * @throws ProtocolError `STORE_MISSING`, `STORE_UNREADABLE`, `STORE_NOT_ALLOWED` or `STORE_IN_USE_ELSEWHERE`
 */
export function openForReading(
  directory: string,
  clock?: Clock,
  access: Access = accessSync,
): Database<Buffer, Buffer> {
  refuseFile(directory);
  let database: Database<Buffer, Buffer>;
  try {
    database = withOpenLock(directory, () => {
      if (clock !== undefined) refuseOtherContainer(directory, clock);
      // Who could not note in it what is read would read what the node writes over meanwhile.
      refuseForeignFiles(directory, [LOCKS_FILE], access);
      if (existsSync(directory) && isOnReadOnlyMedium(directory, access)) refuseOwner(directory, clock);
      // Opened for reading an empty file ends the process with a signal.
      if (refuseDamagedFile(directory) === 'none') throw missing(directory);
      prepareLocksFile(directory);
      return openEnvironment(directory, { readOnly: true });
    });
  } catch (error) {
    throw error instanceof ProtocolError ? error : refusalOf(directory, error);
  }
  try {
    // As long as it is open no page of the tree is used again, whoever writes meanwhile.
    const held = database.useReadTransaction();
    try {
      refuseDamagedPages(directory, PAGES_CHECKED_BEFORE_READING);
    } finally {
      held.done();
    }
    return database;
  } catch (error) {
    void closeInTurn(database, directory);
    throw error instanceof ProtocolError ? error : refusalOf(directory, error);
  }
}

/** The process that may be writing to the store of a folder, in words; undefined for nobody. */
export function storeOwner(directory: string, clock: Clock): string | undefined {
  return existsSync(directory) ? ownerOf(directory, LOCK_NAME, clock) : undefined;
}

/** Closes what was opened here; the claim on a folder is released after that. */
export function closeInTurn(database: Database<Buffer, Buffer>, directory: string): Promise<void> {
  return withOpenLock(directory, () => database.close());
}

function openEnvironment(
  directory: string,
  mode: { readonly noSync?: boolean; readonly readOnly?: boolean },
): Database<Buffer, Buffer> {
  return open<Buffer, Buffer>({
    ...mode,
    path: directory,
    // A folder whose name holds a point would be taken for a file.
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
    // Room of addresses, not of memory or disk. Where the file outgrows it the library maps the whole anew and keeps the old
    // map too, so that a store that grew from little had each of its pages in memory several times.
    mapSize: MAP_BYTES,
    // LMDB's classic rule: pages, fdatasync, then the meta page through a descriptor opened with O_DSYNC, all before a
    // transactionSync returns (seen with strace). Nothing is left to a later flush.
    overlappingSync: false,
  });
}

function refuseFile(directory: string): void {
  if (!existsSync(directory) || statSync(directory).isDirectory()) return;
  throw unreadable(directory, 'it is a file, not a folder');
}

function hasDataFile(directory: string): boolean {
  try {
    return statSync(join(directory, DATA_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw refusalOf(directory, error);
  }
}

function lockOf(directory: string, clock: Clock | undefined): ProcessLock {
  try {
    return takeLock(directory, LOCK_NAME, clock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') throw refusalToWrite(directory, error);
    const { pid, owner } = error.data;
    throw new ProtocolError(
      'STORE_IN_USE',
      { directory, pid, owner },
      `The chain store in ${directory} is in use by ${String(owner)}. Stop that process, or give this node another data directory.`,
      { cause: error },
    );
  }
}

function refuseFullDisk(directory: string): void {
  try {
    checkRoom(directory);
  } catch (error) {
    throw refusalToWrite(directory, error);
  }
}

/** What the system says of writing to the folder, in our words. */
export function refusalToWrite(directory: string, error: unknown): ProtocolError {
  const { code } = error as NodeJS.ErrnoException;
  if (isMissingRight(error)) return notAllowed(directory, 'write to', directory, error);
  const instead = 'or give this node another data directory';
  if (isReadOnlyMedium(error)) {
    return new ProtocolError(
      'STORE_NOT_ALLOWED',
      { directory },
      `The chain store in ${directory} cannot be written to: its file system is read-only. Mount it for writing, ${instead}.`,
      { cause: error },
    );
  }
  const remedy = ROOM_CODES.has(code ?? '') ? 'Make room on its disk' : 'Check the health of its disk';
  return new ProtocolError(
    'STORE_WRITE_FAILED',
    { directory },
    `The chain store in ${directory} cannot be written: ${messageOf(error)}. ${remedy}, ${instead}.`,
    { cause: error },
  );
}

/** The library tells readers apart by their process number, which two containers may both give: each often has but number 1. */
function refuseOtherContainer(directory: string, clock: Clock): void {
  const owner = existsSync(directory) ? ownerElsewhere(directory, LOCK_NAME, clock) : undefined;
  if (owner === undefined) return;
  throw new ProtocolError(
    'STORE_IN_USE_ELSEWHERE',
    { directory, owner },
    `The chain store in ${directory} is in use by ${owner}, and can be read there alone: run the command in that container.`,
  );
}

/**
 * Asks for the right to write before the library does, which a refusal ends with a signal.
 *
 * @param names files that may be missing
 */
function refuseForeignFiles(directory: string, names: readonly string[], access: Access = accessSync): void {
  for (const name of names) {
    const path = join(directory, name);
    if (!existsSync(path)) continue;
    try {
      access(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      // There the library reads without it.
      if (isReadOnlyMedium(error)) continue;
      throw notAllowed(directory, 'write to', path, error);
    }
    if (!statSync(path).isFile()) throw unreadable(directory, `${name} is no file`);
  }
}

/**
 * A copy of a folder by hard links has the same file: two processes that write to it, each with a claim on a folder of its own,
 * would write over each other, and over what was meant for a backup.
 */
function refuseSharedFile(directory: string): void {
  const { nlink = 1 } = statSync(join(directory, DATA_FILE), { throwIfNoEntry: false }) ?? {};
  if (nlink <= 1) return;
  const path = join(directory, DATA_FILE);
  throw new ProtocolError(
    'STORE_SHARED',
    { directory, links: nlink },
    `The chain store in ${directory} shares its file with another folder, as a copy by hard links (cp -al) does, and two nodes ` +
      `would write over each other. Give this folder a file of its own: cp ${path} ${path}.own, then mv ${path}.own ${path}, ` +
      'while no node runs in either folder.',
  );
}

/**
 * The library ends the process with a signal where it cannot open the file of its locks, and where the disk has no room for the
 * pages of a new one. So both are tried before. A new one gets its pages in a file beside it, and its name when it is whole:
 * another process may be about to open it.
 *
 * @throws what the system says of the file
 */
function prepareLocksFile(directory: string): void {
  const path = join(directory, LOCKS_FILE);
  try {
    closeSync(openSync(path, constants.O_RDWR));
    return;
  } catch (error) {
    // There the library reads without it.
    if (isReadOnlyMedium(error) || isMissingRight(error)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const draft = `${path}.${process.pid}.new`;
  try {
    writeFileSync(draft, Buffer.alloc(LOCKS_FILE_BYTES), { mode: 0o664, flag: 'wx' });
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      // Another process made the file meanwhile.
      if (existsSync(path)) return;
      throw new Error(`${LOCKS_FILE} is a link to nowhere`, { cause: error });
    }
    if (isReadOnlyMedium(error) || code === 'EACCES') return;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * On a medium that is read-only the library reads without noting so. That is safe where nobody writes; but a folder may be
 * mounted twice, and be written to where its node has it.
 */
function refuseOwner(directory: string, clock: Clock | undefined): void {
  const owner = ownerOf(directory, LOCK_NAME, clock);
  if (owner === undefined) return;
  throw new ProtocolError(
    'STORE_IN_USE_ELSEWHERE',
    { directory, owner },
    `The chain store in ${directory} is in use by ${owner}, and its files cannot be written to from here: what is read could ` +
      'not be noted in them, and would be written over. Run the command where they can be written to, or when that process ' +
      'has ended.',
  );
}

function isOnReadOnlyMedium(directory: string, access: Access): boolean {
  try {
    access(directory, constants.W_OK);
    return false;
  } catch (error) {
    return isReadOnlyMedium(error);
  }
}

function isReadOnlyMedium(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EROFS';
}

/** @throws ProtocolError `STORE_UNREADABLE` for a damaged or foreign file */
function refuseDamagedFile(directory: string): Exclude<DataFile['kind'], 'damaged'> {
  const found = examineDataFile(join(directory, DATA_FILE));
  if (found.kind === 'damaged') throw unreadable(directory, found.why);
  return found.kind;
}

/**
 * Before the library meets a damaged page, which it ends the process at.
 *
 * @param pagesMax as many of the state, which every block needs, and as many of all
 * @throws ProtocolError `STORE_DAMAGED`
 */
function refuseDamagedPages(directory: string, pagesMax: number): void {
  const path = join(directory, DATA_FILE);
  const damage =
    checkPages(path, { from: STATE_RANGE.gte, to: STATE_RANGE.lt, pagesMax }).damage ??
    checkPages(path, { pagesMax }).damage;
  if (damage !== undefined) throw storeDamaged(directory, damage);
}

/** What the system says of reading the folder or a file of it, in our words. */
function refusalOf(directory: string, error: unknown): ProtocolError {
  const { path = directory } = error as NodeJS.ErrnoException;
  return isMissingRight(error)
    ? notAllowed(directory, 'read', path, error)
    : unreadable(directory, messageOf(error), error);
}

function isMissingRight(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM';
}

function missing(directory: string): ProtocolError {
  return new ProtocolError('STORE_MISSING', { directory }, `There is no chain store in ${directory}.`);
}

function notAllowed(directory: string, what: 'read' | 'write to', path: string, cause: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_NOT_ALLOWED',
    { directory, path },
    `The chain store in ${directory} cannot be opened: this user may not ${what} ${path}. Run the command as the user ` +
      'that runs the node, or give that user the folder and all in it (chown).',
    { cause },
  );
}

/** What to say of a store whose bytes are not what was written. */
export function storeDamaged(directory: string, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_DAMAGED',
    { directory, why },
    `The chain store in ${directory} is damaged: ${why}. Restore it from a backup or a snapshot, or remove the folder and let ` +
      'the node download the chain again; check the health of its disk first.',
    cause === undefined ? undefined : { cause },
  );
}

/** What to say of a folder that holds no store that can be opened. */
export function unreadable(directory: string, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_UNREADABLE',
    { directory },
    `The chain store in ${directory} cannot be read: ${why}. Restore it from a backup, or remove the folder and let the node ` +
      'download the chain again.',
    cause === undefined ? undefined : { cause },
  );
}
