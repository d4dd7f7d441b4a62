/**
 * A store as a plain sequence of bytes, to be carried to another machine: for each key its length (u16), the key, the length
 * of the value (u32), the value; a key of length 0 ends it. Unlike the file of the database it can be read with suspicion.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { KeyValueEntry } from './key-value.ts';
import { TABLES } from './layout.ts';
import { openLmdb, openLmdbSnapshot } from './lmdb.ts';

/** More than any key or value of the layout takes: a block's undo record is the largest. */
const KEY_BYTES_MAX = 1_000;
const VALUE_BYTES_MAX = 64 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** Entries that are written together. */
const ENTRIES_PER_TRANSACTION = 20_000;

const END = Buffer.alloc(2);

/** All entries but the notes, which belong to a node alone. The store may be in use. */
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
 * Writes a dump into a new store. What it says is not looked at: whoever wants to use the store verifies it first.
 *
 * @param directory in which there is no store yet
 * @throws ProtocolError `DUMP_MALFORMED` for bytes that are no dump
 */
export async function restoreDump(chunks: AsyncIterable<Buffer>, directory: string): Promise<void> {
  const store = openLmdb(directory, true, false);
  try {
    let batch: KeyValueEntry[] = [];
    const write = (): void => {
      const entries = batch;
      batch = [];
      store.transact((writer) => {
        for (const { key, value } of entries) writer.put(key, value, true);
      });
    };
    for await (const entry of entriesIn(chunks)) {
      batch.push(entry);
      if (batch.length >= ENTRIES_PER_TRANSACTION) write();
    }
    write();
  } finally {
    await store.close();
  }
}

async function* entriesIn(chunks: AsyncIterable<Buffer>): AsyncIterable<KeyValueEntry> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let at = 0;
    for (;;) {
      if (pending.length < at + 2) break;
      const keyBytes = pending.readUInt16BE(at);
      if (keyBytes === 0) {
        if (pending.length > at + 2) throw malformed('something follows its end');
        return;
      }
      if (keyBytes > KEY_BYTES_MAX) throw malformed(`a key of ${keyBytes} bytes`);
      if (pending.length < at + 2 + keyBytes + 4) break;
      const valueBytes = pending.readUInt32BE(at + 2 + keyBytes);
      if (valueBytes > VALUE_BYTES_MAX) throw malformed(`a value of ${valueBytes} bytes`);
      const valueAt = at + 2 + keyBytes + 4;
      if (pending.length < valueAt + valueBytes) break;
      yield {
        key: pending.subarray(at + 2, at + 2 + keyBytes),
        value: pending.subarray(valueAt, valueAt + valueBytes),
      };
      at = valueAt + valueBytes;
    }
    pending = pending.subarray(at);
  }
  throw malformed('it is cut off');
}

function malformed(why: string): ProtocolError {
  return new ProtocolError('DUMP_MALFORMED', { why }, `it holds no chain store: ${why}`);
}
