/**
 * Reads and writes a store as a plain sequence of bytes, which can be moved to another machine. For each entry, the
 * sequence has the length of the key (u16), the key, the length of the value (u32), and the value. The lengths are
 * big-endian. A key of length 0 marks the end. A dump can come from an untrusted source, because `restoreDump` checks
 * each length. A database file must not come from an untrusted source.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { KeyValueEntry } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { openLmdb, openLmdbSnapshot } from './lmdb.ts';

/**
 * Maximum sizes, in bytes, of the keys and values that `restoreDump` accepts. All keys and values of the layout are
 * smaller. Even a whole genesis block would fit into one value, because the node reads the genesis block from a file of
 * at most 64 MiB.
 */
const KEY_BYTES_MAX = 1_000;
const VALUE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/**
 * Maximum number of entries in one database transaction of `restoreDump`. A database transaction also ends when its
 * entries have `BYTES_PER_TRANSACTION` bytes. Both limits bound the memory that a transaction takes.
 */
const ENTRIES_PER_TRANSACTION = 20_000;
const BYTES_PER_TRANSACTION = 32 * 1024 * 1024;

const END = Buffer.alloc(2);

/**
 * Returns the entries of a store as a dump in chunks. The dump does not contain the table `notes`, because this table
 * concerns only one node. Another process is allowed to use the store at the same time.
 *
 * @throws ProtocolError in the same cases as `openLmdbSnapshot`
 */
export async function* dumpStore(directory: string): AsyncIterable<Buffer> {
  const store = openLmdbSnapshot(directory);
  try {
    let parts: Buffer[] = [];
    let bytes = 0;
    for (const { key, value } of store.entries({ gte: Buffer.from([0]), lt: Buffer.from([255]) })) {
      if (key[0] === TABLES.notes.number) continue;
      const sizes = Buffer.alloc(6);
      sizes.writeUInt16BE(key.length, 0);
      sizes.writeUInt32BE(value.length, 2);
      parts.push(sizes.subarray(0, 2), Buffer.from(key), sizes.subarray(2), Buffer.from(value));
      bytes += key.length + value.length;
      if (bytes < CHUNK_BYTES) continue;
      yield Buffer.concat(parts);
      parts = [];
      bytes = 0;
    }
    yield Buffer.concat([...parts, END]);
  } finally {
    await store.close();
  }
}

/**
 * Writes a dump into a new store. The function does not check the content of the keys and values, so the caller must
 * verify the store before use. After an error, the folder can contain a part of the store.
 *
 * @param directory folder without a store
 * @throws ProtocolError `DUMP_MALFORMED` for bytes that are not a dump; `STORE_WRITE_FAILED` if a write fails; errors
 *   of `openLmdb` for the folder; errors of `chunks`
 */
export async function restoreDump(chunks: AsyncIterable<Buffer>, directory: string): Promise<void> {
  const store = openLmdb(directory, true, false);
  try {
    let batch: KeyValueEntry[] = [];
    let batchBytes = 0;
    const write = (): void => {
      const entries = batch;
      batch = [];
      batchBytes = 0;
      store.transact((writer) => {
        for (const { key, value } of entries) writer.put(key, value, true);
      });
    };
    for await (const entry of entriesIn(chunks)) {
      batch.push(entry);
      batchBytes += entry.key.length + entry.value.length;
      if (batch.length >= ENTRIES_PER_TRANSACTION || batchBytes >= BYTES_PER_TRANSACTION) write();
    }
    write();
  } finally {
    await store.close();
  }
}

async function* entriesIn(chunks: AsyncIterable<Buffer>): AsyncIterable<KeyValueEntry> {
  const bytes = new ByteQueue(chunks[Symbol.asyncIterator]());
  for (;;) {
    const keyBytes = (await bytes.take(2)).readUInt16BE(0);
    if (keyBytes === 0) break;
    if (keyBytes > KEY_BYTES_MAX) throw malformed(`a key of ${keyBytes} bytes`);
    const key = await bytes.take(keyBytes);
    const valueBytes = (await bytes.take(4)).readUInt32BE(0);
    if (valueBytes > VALUE_BYTES_MAX) throw malformed(`a value of ${valueBytes} bytes`);
    yield { key, value: await bytes.take(valueBytes) };
  }
  if (await bytes.hasMore()) throw malformed('something follows its end');
}

/** Presents a stream of chunks as one sequence of bytes. Each byte is copied at most once. */
class ByteQueue {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterator<Buffer>) {
    this.#chunks = chunks;
  }

  /** @throws ProtocolError `DUMP_MALFORMED` if fewer than `count` bytes are left */
  async take(count: number): Promise<Buffer> {
    if (this.#rest.length >= count) return this.#cut(count);
    const parts: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#next())) throw malformed('it is cut off');
      const part = this.#cut(Math.min(missing, this.#rest.length));
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async hasMore(): Promise<boolean> {
    while (this.#rest.length === 0) if (!(await this.#next())) return false;
    return true;
  }

  #cut(count: number): Buffer {
    const part = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return part;
  }

  async #next(): Promise<boolean> {
    const next = await this.#chunks.next();
    if (next.done === true) return false;
    this.#rest = next.value;
    return true;
  }
}

function malformed(why: string): ProtocolError {
  return new ProtocolError('DUMP_MALFORMED', { why }, `it holds no chain store: ${why}`);
}
