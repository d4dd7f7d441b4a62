/**
 * Opens the LMDB environment (the database) in a folder. One process can open the environment for writing, and several
 * processes can open it for reading at the same time. Under some conditions, LMDB ends the process with a signal, reads
 * pages that a writer overwrites, or accepts a damaged file. This module looks for these conditions before LMDB opens
 * the files. If the module finds one of them, it throws an error with advice.
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
import {
  isMissingRight,
  isReadOnlyMedium,
  storeMissing,
  storeNotAllowed,
  refusalOf,
  refusalToWrite,
  storeDamaged,
  storeUnreadable,
} from './store-refusals.ts';

const LOCKS_FILE = 'lock.mdb';
/** Size in bytes of `lock.mdb` with its 126 reader slots. */
const LOCKS_FILE_BYTES = 8272;
const LOCK_NAME = 'in-use';
const MAP_BYTES = 64 * 2 ** 30;
/**
 * Limits, in entries, of the list of free pages that the library lmdb keeps in memory. A commit loads free pages into
 * the list until the list reaches the first limit. If the list exceeds the second limit, the commit drops the list. The
 * library inserts each loaded page into a sorted array, so the time of a commit grows with the square of these limits.
 * With the defaults (50,000 and 75,000), the library loads and drops the list at each commit to a store with 10 million
 * transactions. With these defaults, an import takes 10 times as long as with the limits 4,000 and 6,000. The
 * TypeScript types of the library lack these options.
 */
const FREE_LIST_LIMITS = { maxFreeSpaceToLoad: 4000, maxFreeSpaceToRetain: 6000 };
/**
 * Before the environment is opened for writing, two checks run (`refuseDamagedPages`). The first check reads all pages
 * of the state. The second check reads the tree of free pages, and then up to this number of other pages, beginning at
 * the first key of the store (the check can exceed this number by a few pages, see `pagesMax` in `page-check.ts`). The
 * second check therefore covers a small store completely. The second check takes about 15 ms if the operating system
 * has the file in memory. In one measurement, in which the pages came from a disk, a maximum of 50,000 instead of 5,000
 * made the start 12 s longer. The remaining pages are checked later by the page scrubber of the running node.
 */
const PAGES_CHECKED_BEFORE_WRITING = 5_000;
/**
 * If a process opens the environment for reading, two checks run (`refuseDamagedPages`). The first check reads all
 * pages of the state. The second check reads the tree of free pages, and then up to this number of pages of the tree of
 * entries, or a few pages more. Four million pages take 16 GB in the file. If the operating system has the file in
 * memory, checking these pages takes about 20 s. Reading the pages from a disk takes much longer.
 */
const PAGES_CHECKED_BEFORE_READING = 4_000_000;
/**
 * An environment that is open for writing. This process is allowed to write only while it holds the lock on the folder.
 */
export interface HeldEnvironment {
  readonly database: Database<Buffer, Buffer>;
  readonly lock: ProcessLock;
}

export interface WritingOptions {
  /** If true, `openForWriting` creates a store if the folder contains no store or is missing. */
  readonly create: boolean;
  /** If false, the operating system decides when written data reaches the disk. */
  readonly durable: boolean;
  /**
   * Clock for the lock. A clock is necessary if processes of other containers can reach the folder (see `takeLock`).
   */
  readonly clock: Clock | undefined;
  /** True if this program has just checked the pages, and no process has written to the store since the check. */
  readonly arePagesChecked: boolean;
}

/**
 * Opens the environment for writing. After this call, this process holds the lock on the folder.
 *
 * @throws ProtocolError `STORE_MISSING` if there is no store and `create` is false; `STORE_IN_USE` if a process (or
 *   this process itself) holds the lock on the folder; `STORE_UNREADABLE` if the path is not a folder, or if the data
 *   file is truncated or not an LMDB file; `STORE_DAMAGED` if a page is damaged; `STORE_NOT_ALLOWED` if the files
 *   belong to another user or the file system is read-only; `STORE_SHARED` if another folder has the same file;
 *   `STORE_WRITE_FAILED` if the disk is full or fails; `FOLDER_IMPOSSIBLE` if the folder cannot be created
 */
export function openForWriting(
  directory: string,
  { create, durable, clock, arePagesChecked }: WritingOptions,
): HeldEnvironment {
  refuseFile(directory);
  if (!create && !hasDataFile(directory)) throw storeMissing(directory);
  try {
    makeFolder(directory);
  } catch (error) {
    // The error `FOLDER_IMPOSSIBLE` concerns the folder and not a store, so this code throws the same error again.
    if (error instanceof ProtocolError) throw error;
    const isOfWriting = isMissingRight(error) || isReadOnlyMedium(error);
    throw isOfWriting ? refusalToWrite(directory, error) : storeUnreadable(directory, messageOf(error), error);
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
    throw error instanceof ProtocolError ? error : storeUnreadable(directory, messageOf(error), error);
  }
}

/** Checks access rights to a path, like `accessSync`. */
type Access = (path: string, mode: number) => void;

export interface ReadingOptions {
  /**
   * Function that checks access rights. By default, the function asks the operating system. Tests pass another
   * function.
   */
  readonly access?: Access;
  /** True if another process checks the pages of the store, for example the node that started this reader. */
  readonly arePagesChecked?: boolean;
}

/**
 * Opens the environment for reading. At the same time, another process is allowed to write to the folder if both
 * processes run in the same container, or if both run outside of containers on the same machine. But if the medium is
 * read-only for this process, LMDB cannot record in `lock.mdb` which commit this process reads. A writer could then
 * overwrite the pages of this commit. On a read-only medium, the function therefore throws an error if a process holds
 * the lock on the folder. After that, the function opens the environment. If `arePagesChecked` is false, the function
 * checks the pages of the store. If the store has more than `PAGES_CHECKED_BEFORE_READING` pages, the function checks
 * only a part of the store. The check takes about 5 s for each million pages if the operating system has the file in
 * memory.
 *
 * @param clock clock with which the function finds a process of another container that writes to the folder
 * @throws ProtocolError `STORE_MISSING`, `STORE_UNREADABLE` or `STORE_DAMAGED` in the same cases as `openForWriting`;
 *   `STORE_NOT_ALLOWED` if this process has no right to read the files or to write `lock.mdb`; `STORE_IN_USE_ELSEWHERE`
 *   if a process of another container holds the lock. On a read-only medium, the code is also `STORE_IN_USE_ELSEWHERE`
 *   if a process of the same container holds the lock
 */
export function openForReading(
  directory: string,
  clock?: Clock,
  { access = accessSync, arePagesChecked = false }: ReadingOptions = {},
): Database<Buffer, Buffer> {
  refuseFile(directory);
  let database: Database<Buffer, Buffer>;
  try {
    database = withOpenLock(directory, () => {
      if (clock !== undefined) refuseOtherContainer(directory, clock);
      // A reader must be able to record in `lock.mdb` which commit the reader uses. Without this record, the node would
      // overwrite pages that the reader needs.
      refuseForeignFiles(directory, [LOCKS_FILE], access);
      if (existsSync(directory) && isOnReadOnlyMedium(directory, access)) refuseOwner(directory, clock);
      // If LMDB opened an empty file for reading, LMDB would end the process with a signal.
      if (refuseDamagedFile(directory) === 'none') throw storeMissing(directory);
      prepareLocksFile(directory);
      return openEnvironment(directory, { readOnly: true });
    });
  } catch (error) {
    throw error instanceof ProtocolError ? error : refusalOf(directory, error);
  }
  if (arePagesChecked) return database;
  try {
    // While this transaction is open, no writer reuses a page of the trees that the check reads.
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

/**
 * Returns a text such as `process 123` for the process that holds the lock on the folder of a store; undefined if no
 * process holds the lock. Only the holder of the lock writes to the store.
 */
export function storeOwner(directory: string, clock: Clock): string | undefined {
  return existsSync(directory) ? ownerOf(directory, LOCK_NAME, clock) : undefined;
}

/** Returns the error for a store if another process holds the lock on the folder of the store. */
export function storeInUse(directory: string, owner: string, options?: ErrorOptions): ProtocolError {
  return new ProtocolError(
    'STORE_IN_USE',
    { directory, owner },
    `The chain store in ${directory} is in use by ${owner}. Stop that process, or give this node another data folder.`,
    options,
  );
}

/**
 * Closes an environment that this module opened. If the environment was opened for writing, the caller releases the
 * lock on the folder afterwards. This program reads and writes synchronously. The call `database.close` therefore waits
 * for no other work, and the environment is closed when the call returns.
 */
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
    // By default, the library treats a folder with a dot in its name as a file.
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
    // Size of the address range to which the library maps the file. The range by itself takes no memory and no disk
    // space. If a file grows beyond this range, the library maps the whole file a second time, and keeps the old
    // mapping. With a small range, memory would contain a growing store several times.
    mapSize: MAP_BYTES,
    ...FREE_LIST_LIMITS,
    // With the value false, LMDB writes the pages, calls fdatasync, and then writes the meta page through a descriptor
    // opened with O_DSYNC. All these steps happen before transactionSync returns (seen with strace), so no data are
    // flushed later.
    overlappingSync: false,
  });
}

function refuseFile(directory: string): void {
  if (!existsSync(directory) || statSync(directory).isDirectory()) return;
  throw storeUnreadable(directory, 'it is a file, not a folder');
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
    throw storeInUse(directory, String(error.data['owner']), { cause: error });
  }
}

function refuseFullDisk(directory: string): void {
  try {
    checkRoom(directory);
  } catch (error) {
    throw refusalToWrite(directory, error);
  }
}

/**
 * Refuses a store if a process of another container holds the lock on the folder of the store. The library identifies
 * readers by their process number. Two processes in different containers can have the same process number (often 1), so
 * the library would mix up the readers of the two processes.
 */
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
 * Throws an error if a file is not a regular file, or if this process has no right to read and write the file. If the
 * library opened such a file, the library would end the process with a signal. On a read-only medium, the process needs
 * only the right to read.
 *
 * @param names names of the files to check; the function skips a missing file
 */
function refuseForeignFiles(directory: string, names: readonly string[], access: Access = accessSync): void {
  for (const name of names) {
    const path = join(directory, name);
    if (!existsSync(path)) continue;
    try {
      access(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (isReadOnlyMedium(error)) continue;
      throw storeNotAllowed(directory, 'write to', path, error);
    }
    if (!statSync(path).isFile()) throw storeUnreadable(directory, `${name} is not a file`);
  }
}

/**
 * Refuses a data file that has more than one hard link. If a folder was copied with hard links, the two folders contain
 * the same file. Two processes could then each lock one of the folders and write to the same file. The two processes
 * would overwrite each other's data, or one process would overwrite a backup.
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
 * Opens or creates the file `lock.mdb` before the library does. If the library could not open this file, or if the disk
 * had no room for the file, the library would end the process with a signal. The function writes a new file under a
 * temporary name, and then links the file to its final name, so that no other process opens an incomplete file.
 *
 * @throws the error of the system if the file cannot be opened or created. If the cause is a missing access right or a
 *   read-only medium, the function throws nothing. For a symbolic link without a target, the function throws an error
 *   that names this cause
 */
function prepareLocksFile(directory: string): void {
  const path = join(directory, LOCKS_FILE);
  try {
    closeSync(openSync(path, constants.O_RDWR));
    return;
  } catch (error) {
    // If this process has no write access, the library reads the store without `lock.mdb`.
    if (isReadOnlyMedium(error) || isMissingRight(error)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const draft = `${path}.${process.pid}.new`;
  try {
    // Perhaps an earlier process was killed at this point and left its draft, and this process has the same process
    // number as the earlier process. In a container, equal process numbers are common.
    rmSync(draft, { force: true });
    writeFileSync(draft, Buffer.alloc(LOCKS_FILE_BYTES), { mode: 0o664, flag: 'wx' });
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      // If the file `path` exists at this point, another process created the file after this process had looked for the
      // file.
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
 * Refuses a folder on a read-only medium while a process holds the lock on the folder. On a read-only medium, the
 * library reads without locks. Reading without locks is safe only if no process writes to the folder. Even if the
 * medium is read-only for this process, it can be writable for a node, because the folder can be mounted twice.
 */
function refuseOwner(directory: string, clock: Clock | undefined): void {
  const owner = ownerOf(directory, LOCK_NAME, clock);
  if (owner === undefined) return;
  throw new ProtocolError(
    'STORE_IN_USE_ELSEWHERE',
    { directory, owner },
    `The chain store in ${directory} is in use by ${owner}, and its files cannot be written from here, so ` +
      'that process could overwrite pages during the read. Run the command in a place where the files can be written, or ' +
      'after that process has ended.',
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

/** @throws ProtocolError `STORE_UNREADABLE` if the file is cut off or is not an LMDB file */
function refuseDamagedFile(directory: string): Exclude<DataFile['kind'], 'damaged'> {
  const found = examineDataFile(join(directory, DATA_FILE));
  if (found.kind === 'damaged') throw storeUnreadable(directory, found.why);
  return found.kind;
}

/**
 * Checks pages before the library reads these pages, because a damaged page can end the process (see `page-check.ts`).
 * All pages of the state are checked first, because the node reads the whole state at its start. A second check reads
 * the tree of free pages, and then pages from the first key of the store on.
 *
 * @param pagesMax number of pages that the second check reads after the tree of free pages (the check can read a few
 *   pages more, see `pagesMax` in `page-check.ts`)
 * @throws ProtocolError `STORE_DAMAGED`
 */
function refuseDamagedPages(directory: string, pagesMax: number): void {
  const path = join(directory, DATA_FILE);
  const damage =
    checkPages(path, { from: STATE_RANGE.gte, to: STATE_RANGE.lt }).damage ?? checkPages(path, { pagesMax }).damage;
  if (damage !== undefined) throw storeDamaged(directory, damage);
}
