/** Keys in an LMDB environment of one folder. */

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { open, type Database, type Transaction } from 'lmdb';

import type { Clock } from '../ports/clock.ts';
import { assert, messageOf, ProtocolError } from '../primitives/errors.ts';
import { DATA_FILE, examineDataFile, type DataFile } from './data-file.ts';
import { checkRoom, makeFolder } from './folder.ts';
import type { KeyRange, KeyValue, KeyValueEntry, KeyValueWriter } from './key-value.ts';
import { ownerElsewhere, takeLock, type ProcessLock } from './process-lock.ts';
import { inTurn } from './turns.ts';

const LOCKS_FILE = 'lock.mdb';
const LOCK_NAME = 'in-use';
const MAP_BYTES = 64 * 2 ** 30;
/** What there has to be room for before a store is written to again whose disk has failed: more than a block takes. */
const ROOM_AGAIN_BYTES = 8 * 2 ** 20;

/**
 * Opens the folder, creating it where `create` allows, and holds it until `close`.
 *
 * @param durable false leaves it to the system when the disk gets what was written: for stores that nobody needs later
 * @param clock for a folder that other containers may reach too, as for `takeLock`
 * @throws ProtocolError `STORE_MISSING` when there is none and `create` is false, `STORE_IN_USE` when another process holds it,
 *   `STORE_UNREADABLE` when it is no folder or holds a damaged or foreign file, `STORE_NOT_ALLOWED` when its files are
 *   another user's
 */
export function openLmdb(directory: string, create: boolean, durable = true, clock?: Clock): KeyValue {
  refuseFile(directory);
  if (!create && !hasDataFile(directory)) throw missing(directory);
  try {
    makeFolder(directory);
  } catch (error) {
    throw unreadable(directory, messageOf(error), error);
  }
  const lock = lockOf(directory, clock);
  try {
    refuseFullDisk(directory);
    const database = inTurn(directory, () => {
      refuseForeignFiles(directory, [DATA_FILE, LOCKS_FILE]);
      refuseDamagedFile(directory);
      return openEnvironment(directory, { noSync: !durable });
    });
    return new LmdbKeyValue(database, directory, lock);
  } catch (error) {
    lock.release();
    throw error instanceof ProtocolError ? error : unreadable(directory, messageOf(error), error);
  }
}

/**
 * Opens the folder for reading, also while a node holds it: every answer is as of this moment until `close`. As long as it is
 * open the node cannot use again what it frees, so its file may grow meanwhile.
 *
 * @throws ProtocolError `STORE_MISSING`, `STORE_UNREADABLE`, `STORE_NOT_ALLOWED` or `STORE_IN_USE_ELSEWHERE`
 */
export function openLmdbSnapshot(directory: string, clock?: Clock): KeyValue {
  const database = openForReading(directory, clock);
  const close = (): Promise<void> => closeInTurn(database, directory);
  try {
    return new LmdbSnapshot(database, close);
  } catch (error) {
    void close();
    throw unreadable(directory, messageOf(error), error);
  }
}

/**
 * The library's own object, for what is no matter of keys and values.
 *
 * @throws ProtocolError `STORE_MISSING`, `STORE_UNREADABLE`, `STORE_NOT_ALLOWED` or `STORE_IN_USE_ELSEWHERE`
 */
export function openForReading(directory: string, clock?: Clock): Database<Buffer, Buffer> {
  refuseFile(directory);
  try {
    return inTurn(directory, () => {
      if (clock !== undefined) refuseOtherContainer(directory, clock);
      // Who could not note in it what is read would read what the node writes over meanwhile.
      refuseForeignFiles(directory, [LOCKS_FILE]);
      // Opened for reading an empty file ends the process with a signal.
      if (refuseDamagedFile(directory) === 'none') throw missing(directory);
      return openEnvironment(directory, { readOnly: true });
    });
  } catch (error) {
    throw error instanceof ProtocolError ? error : refusalOf(directory, error);
  }
}

/** Closes what `openForReading` gave. */
export function closeInTurn(database: Database<Buffer, Buffer>, directory: string): Promise<void> {
  return inTurn(directory, () => database.close());
}

function lockOf(directory: string, clock: Clock | undefined): ProcessLock {
  try {
    return takeLock(directory, LOCK_NAME, clock);
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'LOCKED') {
      throw new ProtocolError(
        'STORE_UNREADABLE',
        { directory },
        `The chain store in ${directory} cannot be opened for writing: ${messageOf(error)}.`,
        { cause: error },
      );
    }
    const { pid, owner } = error.data;
    throw new ProtocolError(
      'STORE_IN_USE',
      { directory, pid },
      `The chain store in ${directory} is in use by ${String(owner)}. Stop that process, or give this node another data directory.`,
      { cause: error },
    );
  }
}

function refuseFullDisk(directory: string): void {
  try {
    checkRoom(directory);
  } catch (error) {
    throw new ProtocolError(
      'STORE_WRITE_FAILED',
      { directory },
      `The chain store in ${directory} cannot be written: ${messageOf(error)}. Make room on its disk, or give this node ` +
        'another data directory.',
      { cause: error },
    );
  }
}

function refuseFile(directory: string): void {
  if (!existsSync(directory) || statSync(directory).isDirectory()) return;
  throw unreadable(directory, 'it is a file, not a folder');
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
function refuseForeignFiles(directory: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(directory, name);
    if (!existsSync(path)) continue;
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      // On a medium that nobody can write to nobody does.
      if ((error as NodeJS.ErrnoException).code === 'EROFS') continue;
      throw notAllowed(directory, 'write to', path, error);
    }
    if (!statSync(path).isFile()) throw unreadable(directory, `${name} is no file`);
  }
}

function hasDataFile(directory: string): boolean {
  try {
    return statSync(join(directory, DATA_FILE), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw refusalOf(directory, error);
  }
}

/** What the system says of reading the folder or a file of it, in our words. */
function refusalOf(directory: string, error: unknown): ProtocolError {
  const { code, path = directory } = error as NodeJS.ErrnoException;
  const isRight = code === 'EACCES' || code === 'EPERM';
  return isRight ? notAllowed(directory, 'read', path, error) : unreadable(directory, messageOf(error), error);
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

/** @throws ProtocolError `STORE_UNREADABLE` for a damaged or foreign file */
function refuseDamagedFile(directory: string): Exclude<DataFile['kind'], 'damaged'> {
  const found = examineDataFile(join(directory, DATA_FILE));
  if (found.kind === 'damaged') throw unreadable(directory, found.why);
  return found.kind;
}

function missing(directory: string): ProtocolError {
  return new ProtocolError('STORE_MISSING', { directory }, `There is no chain store in ${directory}.`);
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

class LmdbKeyValue implements KeyValue {
  readonly #database: Database<Buffer, Buffer>;
  readonly #directory: string;
  readonly #lock: ProcessLock;
  readonly #writer: KeyValueWriter;
  readonly #snapshots = new Set<LmdbSnapshot>();
  #writing = false;
  /** Whether the last transaction could not be written. */
  #hasFailed = false;
  #closed = false;

  constructor(database: Database<Buffer, Buffer>, directory: string, lock: ProcessLock) {
    this.#database = database;
    this.#directory = directory;
    this.#lock = lock;
    this.#writer = {
      get: (key) => this.get(key),
      entries: (range) => this.entries(range),
      keys: (range) => this.keys(range),
      count: (range) => this.count(range),
      put: (key, value) => {
        assert(this.#writing, 'writes happen inside a transaction');
        this.#database.putSync(bufferOf(key), bufferOf(value));
      },
      remove: (key) => {
        assert(this.#writing, 'writes happen inside a transaction');
        this.#database.removeSync(bufferOf(key));
      },
    };
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#database.getBinary(bufferOf(key));
  }

  entries(range: KeyRange): Iterable<KeyValueEntry> {
    return this.#database.getRange(lmdbRange(range)) as Iterable<KeyValueEntry>;
  }

  keys(range: KeyRange): Iterable<Buffer> {
    return this.#database.getKeys(lmdbRange(range)) as Iterable<Buffer>;
  }

  count(range: KeyRange): number {
    if (Buffer.compare(range.gte, range.lt) >= 0) return 0;
    return this.#database.getKeysCount({ start: bufferOf(range.gte), end: bufferOf(range.lt) });
  }

  transact<T>(work: (writer: KeyValueWriter) => T): T {
    assert(!this.#writing, 'transactions are not nested');
    if (!this.#lock.isHeld()) throw takenOver(this.#directory);
    // A failed write leaves the library's memory in disorder now and then, until after some it ends the process: so it is not
    // asked again before a plain file has found room.
    if (this.#hasFailed) this.#checkRoom();
    let done: { readonly result: T } | undefined;
    this.#writing = true;
    try {
      // transactionSync alone rolls back on a throw; the plain transaction() of this library keeps the writes before it.
      this.#database.transactionSync(() => {
        done = { result: work(this.#writer) };
      });
    } catch (error) {
      if (done === undefined) throw error;
      this.#hasFailed = true;
      throw writeFailed(error);
    } finally {
      this.#writing = false;
    }
    assert(done !== undefined, 'a committed transaction has run');
    this.#hasFailed = false;
    return done.result;
  }

  #checkRoom(): void {
    try {
      checkRoom(this.#directory, ROOM_AGAIN_BYTES);
    } catch (error) {
      throw writeFailed(error);
    }
  }

  snapshot(): KeyValue {
    assert(!this.#writing, 'a snapshot is of what was committed');
    const snapshot = new LmdbSnapshot(this.#database, async () => {
      this.#snapshots.delete(snapshot);
    });
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const snapshot of [...this.#snapshots]) await snapshot.close();
    await closeInTurn(this.#database, this.#directory);
    this.#lock.release();
  }
}

function writeFailed(error: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_WRITE_FAILED',
    {},
    `The chain store could not be written: ${messageOf(error)}. Check the free space and the health of its disk.`,
    { cause: error },
  );
}

function takenOver(directory: string): ProtocolError {
  return new ProtocolError(
    'STORE_WRITE_FAILED',
    { directory },
    `The chain store in ${directory} could not be written: the claim of this process is gone. Another process took the folder ` +
      'over while this one stood still, or somebody removed it. Stop this process; it may be started again when no other has ' +
      'the folder.',
  );
}

/** One read transaction from beginning to end. */
class LmdbSnapshot implements KeyValue {
  readonly #database: Database<Buffer, Buffer>;
  readonly #held: Transaction;
  readonly #release: () => Promise<void>;
  #closed = false;

  /** @param release called once, when the transaction is done */
  constructor(database: Database<Buffer, Buffer>, release: () => Promise<void>) {
    this.#database = database;
    this.#held = database.useReadTransaction();
    this.#release = release;
  }

  /** @throws ProtocolError `STORE_CLOSED`: reading on would end the process */
  get #transaction(): Transaction {
    if (this.#closed) throw new ProtocolError('STORE_CLOSED', {}, 'The chain store was closed while it was read.');
    return this.#held;
  }

  get(key: Uint8Array): Buffer | undefined {
    const options = { transaction: this.#transaction };
    return this.#database.get(bufferOf(key), options);
  }

  entries(range: KeyRange): Iterable<KeyValueEntry> {
    const options = { ...lmdbRange(range), transaction: this.#transaction };
    return this.#database.getRange(options) as Iterable<KeyValueEntry>;
  }

  keys(range: KeyRange): Iterable<Buffer> {
    const options = { ...lmdbRange(range), transaction: this.#transaction };
    return this.#database.getKeys(options) as Iterable<Buffer>;
  }

  count(range: KeyRange): number {
    if (Buffer.compare(range.gte, range.lt) >= 0) return 0;
    const bounds = { start: bufferOf(range.gte), end: bufferOf(range.lt) };
    return this.#database.getKeysCount({ ...bounds, transaction: this.#transaction });
  }

  /** The same moment again. */
  snapshot(): KeyValue {
    return {
      get: (key) => this.get(key),
      entries: (range) => this.entries(range),
      keys: (range) => this.keys(range),
      count: (range) => this.count(range),
      transact: () => this.transact(),
      snapshot: () => this.snapshot(),
      close: async () => undefined,
    };
  }

  transact(): never {
    throw new ProtocolError('STORE_READ_ONLY', {}, 'The chain store was opened for reading only.');
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#held.done();
    await this.#release();
  }
}

function lmdbRange({ gte, lt, reverse, limit, offset }: KeyRange): Parameters<Database<Buffer, Buffer>['getRange']>[0] {
  const bounds =
    reverse === true
      ? { start: bufferOf(lt), exclusiveStart: true, end: bufferOf(gte), inclusiveEnd: true, reverse: true }
      : { start: bufferOf(gte), end: bufferOf(lt) };
  return {
    ...bounds,
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  };
}

function unreadable(directory: string, why: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'STORE_UNREADABLE',
    { directory },
    `The chain store in ${directory} cannot be read: ${why}. Restore it from a backup, or remove the folder and let the node ` +
      'download the chain again.',
    cause === undefined ? undefined : { cause },
  );
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
