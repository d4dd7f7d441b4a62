/** Keys in an LMDB environment of one folder. */

import { bufferOf } from '../../primitives/bytes.ts';
import type { Database, Transaction } from 'lmdb';

import type { Clock } from '../../ports/clock.ts';
import { assert, messageOf, ProtocolError } from '../../primitives/errors.ts';
import {
  closeInTurn,
  openForReading,
  openForWriting,
  storeDamaged,
  unreadable,
  type HeldEnvironment,
} from './environment.ts';
import { checkRoom } from './folder.ts';
import { readsOf, type KeyRange, type KeyValue, type KeyValueEntry, type KeyValueWriter } from '../tables/key-value.ts';
import type { ProcessLock } from './process-lock.ts';

/** What there has to be room for before a store is written to again whose disk has failed: more than a block takes. */
const ROOM_AGAIN_BYTES = 8 * 2 ** 20;

/**
 * Opens the folder, creating it where `create` allows, and holds it until `close`.
 *
 * @param durable false leaves it to the system when the disk gets what was written: for stores that nobody needs later
 * @param clock for a folder that other containers may reach too
 * @param arePagesChecked as for `openForWriting`
 * @throws ProtocolError as `openForWriting`
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
 * Opens the folder for reading, also while a node holds it: every answer is as of this moment until `close`. As long as it is
 * open the node cannot use again what it frees, so its file may grow meanwhile.
 *
 * @throws ProtocolError as `openForReading`
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

/** A folder that is read again and again, each time as it is then. */
export interface LmdbReader {
  /** All as of now, until its `close`. What is freed meanwhile cannot be used again, so it is for seconds. */
  snapshot(): KeyValue;
  /** Frees the places of readers whose processes are gone. @returns how many */
  clearStale(): number;
  close(): Promise<void>;
}

/** @throws ProtocolError as `openForReading` */
export function openLmdbReader(directory: string, clock?: Clock): LmdbReader {
  const database = openForReading(directory, clock);
  return {
    snapshot: () => {
      // Else it would be of when this turn of the event loop began to read.
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
  /** Whether the last transaction could not be written. */
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
    try {
      return this.#database.getBinary(bufferOf(key));
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

/** What the library says when it meets pages that cannot be, or has met some before. */
function isDamage(error: unknown): boolean {
  return /MDB_(CORRUPTED|PAGE_NOTFOUND|BAD_TXN|PANIC|CURSOR_FULL|PAGE_FULL|TXN_FULL)/.test(messageOf(error));
}

/** A damaged store in our words; other errors as they are. */
function wordsFor(error: unknown, directory: string): unknown {
  return isDamage(error) ? storeDamaged(directory, 'a page of it cannot be read', error) : error;
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
    `The chain store in ${directory} is written to no more: the claim of this process is gone. Another process took the folder ` +
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
