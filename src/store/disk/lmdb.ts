/** Stores entries, in the order of their keys, in the LMDB environment of one folder. */

import { bufferOf } from '../../primitives/bytes.ts';
import type { Database, Transaction } from 'lmdb';

import type { Clock } from '../../ports/clock.ts';
import { assert, messageOf, ProtocolError } from '../../primitives/errors.ts';
import { closeInTurn, openForReading, openForWriting, type HeldEnvironment } from './environment.ts';
import { checkRoom } from './folder.ts';
import { isDamage, storeDamaged, storeUnreadable } from './store-refusals.ts';
import { readsOf, type KeyRange, type KeyValue, type KeyValueEntry, type KeyValueWriter } from '../tables/key-value.ts';
import type { ProcessLock } from './process-lock.ts';

/**
 * After a failed write, the store refuses further writes until this number of bytes is free on the disk. The writes of
 * one block take fewer bytes.
 */
const ROOM_AGAIN_BYTES = 8 * 2 ** 20;

/**
 * Opens the store in a folder for writing, and holds the lock on the folder until `close`.
 *
 * @param create decides what happens if the folder contains no store or is missing. If true, the function creates a
 *   store; if false, it throws `STORE_MISSING`
 * @param durable if false, the operating system decides when written data reaches the disk
 * @param clock clock for the lock. A clock is necessary if processes of other containers can reach the folder (see
 *   `takeLock`)
 * @param arePagesChecked the same as for `openForWriting`
 * @throws ProtocolError in the same cases as `openForWriting`
 */
export function openLmdb(
  directory: string,
  create: boolean,
  durable = true,
  clock?: Clock,
  arePagesChecked = false,
): KeyValue {
  return new LmdbKeyValue(openForWriting(directory, { create, durable, clock, arePagesChecked }), directory);
}

/**
 * Opens a snapshot of the store in a folder. At the same time, a node is allowed to use the folder if the node runs in
 * the same container as this process, or if both run outside of containers on the same machine. A node of another
 * container is not allowed to use the folder, because LMDB identifies readers by process number, and two processes of
 * different containers can have the same number. All reads show the store at the moment of this call, until the
 * snapshot is closed (`close`). While the snapshot is open, the node cannot reuse freed pages, so the data file can
 * grow.
 *
 * @throws ProtocolError in the same cases as `openForReading`
 */
export function openLmdbSnapshot(directory: string, clock?: Clock): KeyValue {
  const database = openForReading(directory, clock);
  const close = (): Promise<void> => closeInTurn(database, directory);
  try {
    return new LmdbSnapshot(database, close);
  } catch (error) {
    void close();
    throw storeUnreadable(directory, messageOf(error), error);
  }
}

/** Opens snapshots of the store in one folder. Several snapshots can be open at the same time. */
export interface LmdbReader {
  /**
   * Returns a snapshot of the store at the moment of this call. The snapshot is valid until the caller closes the
   * snapshot or this reader. While a snapshot is open, the node cannot reuse freed pages, so the data file can grow. A
   * snapshot should therefore stay open only for a few seconds.
   */
  snapshot(): KeyValue;
  /** Frees the reader slots of processes that have ended. @returns number of reader slots that were freed */
  clearStale(): number;
  close(): Promise<void>;
}

/**
 * Opens the store in a folder for a process that reads several snapshots. At the same time, a node is allowed to use
 * the folder if the node runs in the same container as this process, or if both run outside of containers on the same
 * machine. A node of another container is not allowed to use the folder, because LMDB identifies readers by process
 * number, and two processes of different containers can have the same number.
 *
 * @param clock see the parameter `clock` of `openForReading`
 * @param arePagesChecked the same as for `openForReading`
 * @throws ProtocolError in the same cases as `openForReading`. If `arePagesChecked` is true, the function does not
 *   search for damaged pages
 */
export function openLmdbReader(directory: string, clock?: Clock, arePagesChecked = false): LmdbReader {
  const database = openForReading(directory, clock, { arePagesChecked });
  return {
    snapshot: () => {
      // Without the reset, the snapshot would show the store at the time of the first read in this iteration of the
      // event loop.
      database.resetReadTxn();
      return new LmdbSnapshot(database, async () => undefined);
    },
    clearStale: () => database.readerCheck(),
    close: () => closeInTurn(database, directory),
  };
}

class LmdbKeyValue implements KeyValue {
  readonly #database: Database<Buffer, Buffer>;
  readonly #directory: string;
  readonly #lock: ProcessLock;
  readonly #writer: KeyValueWriter;
  readonly #snapshots = new Set<LmdbSnapshot>();
  #writing = false;
  /**
   * True after a failed commit, until the next successful commit. A commit that fails because of a damaged page does
   * not set this value to true.
   */
  #hasFailed = false;
  #closed = false;

  constructor({ database, lock }: HeldEnvironment, directory: string) {
    this.#database = database;
    this.#directory = directory;
    this.#lock = lock;
    this.#writer = {
      ...readsOf(this),
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
    return copyOf(this.#shared(key));
  }

  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined {
    const value = this.#shared(key);
    return value === undefined ? undefined : work(value.subarray(0, value.length));
  }

  #shared(key: Uint8Array): Buffer | undefined {
    try {
      return this.#database.getBinaryFast(bufferOf(key));
    } catch (error) {
      throw wordsFor(error, this.#directory);
    }
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
    // After a failed write, the memory of the library can be corrupt. After several failed writes, the library ends the
    // process. The store therefore writes again only after a test file has shown that there is enough space.
    if (this.#hasFailed) this.#checkRoom();
    let done: { readonly result: T } | undefined;
    this.#writing = true;
    try {
      // If `work` throws an error, `transactionSync` rolls back all writes of `work`. The method `transaction` of this
      // library would commit the writes that `work` made before the error.
      this.#database.transactionSync(() => {
        done = { result: work(this.#writer) };
      });
    } catch (error) {
      if (done === undefined) throw wordsFor(error, this.#directory);
      if (isDamage(error)) throw wordsFor(error, this.#directory);
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
    assert(!this.#writing, 'a snapshot has only committed data');
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

/**
 * If the error shows damage (`isDamage`), returns an error with the code `STORE_DAMAGED`. Returns every other error
 * unchanged.
 */
function wordsFor(error: unknown, directory: string): unknown {
  return isDamage(error) ? storeDamaged(directory, 'one of its pages cannot be read', error) : error;
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
    'STORE_TAKEN_OVER',
    { directory },
    `The chain store in ${directory} is no longer written: the lock of this process is gone. Another process took over the folder ` +
      'while this process was suspended, or a user removed the lock file. Stop this process, and start it again when no other ' +
      'process uses the folder.',
  );
}

/** A snapshot of the store. All reads of the snapshot use one read transaction. */
class LmdbSnapshot implements KeyValue {
  readonly #database: Database<Buffer, Buffer>;
  readonly #held: Transaction;
  readonly #release: () => Promise<void>;
  #closed = false;

  /** @param release function that the snapshot calls once, after its read transaction has ended */
  constructor(database: Database<Buffer, Buffer>, release: () => Promise<void>) {
    this.#database = database;
    this.#held = database.useReadTransaction();
    this.#release = release;
  }

  /** @throws ProtocolError `STORE_CLOSED` after `close`, because a read after `close` would end the process */
  get #transaction(): Transaction {
    if (this.#closed) throw new ProtocolError('STORE_CLOSED', {}, 'The chain store was closed while it was read.');
    return this.#held;
  }

  get(key: Uint8Array): Buffer | undefined {
    return copyOf(this.#shared(key));
  }

  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined {
    const value = this.#shared(key);
    return value === undefined ? undefined : work(value.subarray(0, value.length));
  }

  #shared(key: Uint8Array): Buffer | undefined {
    const reads: SharedReads = this.#database;
    return reads.getBinaryFast(bufferOf(key), { transaction: this.#transaction });
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

  /** Returns a second view of this snapshot. Closing the second view does not close this snapshot. */
  snapshot(): KeyValue {
    return {
      ...readsOf(this),
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

/**
 * A read method of the library. The TypeScript types of the library contain this method, but without its parameter
 * `options`.
 */
interface SharedReads {
  getBinaryFast(key: Buffer, options: { readonly transaction: Transaction }): Buffer | undefined;
}

/**
 * Copies a value out of the memory that the library reuses for the next value. For a small value, the function takes
 * the memory from the buffer pool of Node.js. If the library made the copy, the library would allocate new memory for
 * each value, which takes several times as long.
 */
function copyOf(shared: Buffer | undefined): Buffer | undefined {
  if (shared === undefined) return undefined;
  // For each value, the library sets only the property `length` of the shared buffer. The shared buffer still has more
  // bytes than this length, so `subarray` selects the bytes of the value.
  const size = shared.length;
  const value = Buffer.allocUnsafe(size);
  value.set(shared.subarray(0, size));
  return value;
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
