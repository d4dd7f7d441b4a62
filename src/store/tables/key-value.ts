/**
 * Defines the interface of a database with ordered binary keys and small values. The interface contains only the
 * operations that the chain store needs. Keys are sorted by bytes. After a method of this interface has received or
 * returned a byte array, no code is allowed to change the array. The reason: it is possible that the caller and the
 * store use the same memory.
 */

/** Keys from `gte` (inclusive) to `lt` (exclusive), in ascending order, or in descending order if `reverse` is true. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  /** Maximum number of entries to read; by default, all entries of the range. */
  readonly limit?: number;
  /**
   * Number of entries to skip before the first entry that is read. If `reverse` is true, the reading begins at the end
   * of the range, so the skipped entries are at the end of the range.
   */
  readonly offset?: number;
}

export interface KeyValueEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface KeyValueReader {
  get(key: Uint8Array): Buffer | undefined;
  /**
   * Calls `work` with the value of a key. Unlike `get`, this method can avoid a copy of the value.
   *
   * @param work must neither read nor write keys of this database; the result of `work` must not refer to the bytes of
   *   the value
   * @returns the result of `work`; undefined if the key does not exist
   */
  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined;
  /** The entries of a range. The caller must not write to the database while it iterates over the entries. */
  entries(range: KeyRange): Iterable<KeyValueEntry>;
  /** The keys of a range. The caller must not write to the database while it iterates over the keys. */
  keys(range: KeyRange): Iterable<Buffer>;
  /** Number of keys in the range; `limit` and `offset` are ignored. */
  count(range: KeyRange): number;
}

/**
 * Returns an object with the read methods of `reader`. The caller can add methods for writing or closing to this
 * object.
 */
export function readsOf(reader: KeyValueReader): KeyValueReader {
  return {
    get: (key) => reader.get(key),
    withValue: (key, work) => reader.withValue(key, work),
    entries: (range) => reader.entries(range),
    keys: (range) => reader.keys(range),
    count: (range) => reader.count(range),
  };
}

/**
 * The writer of a database transaction. The writer is valid only during this transaction. Reads through the writer see
 * the writes that the transaction has already made.
 */
export interface KeyValueWriter extends KeyValueReader {
  /** @param isNew true if the caller knows that the key does not exist; a database can then omit a lookup */
  put(key: Uint8Array, value: Uint8Array, isNew?: boolean): void;
  /** @param isThere true if the caller knows that the key exists; a database can then omit a lookup */
  remove(key: Uint8Array, isThere?: boolean): void;
}

export interface KeyValue extends KeyValueReader {
  /**
   * Runs `work` as one database transaction. When the call returns, all writes are on the disk. This guarantee does not
   * apply to a database in memory, or to a database that was opened as not durable. If the call throws an error, the
   * database has not changed. Transactions cannot be nested.
   */
  transact<T>(work: (writer: KeyValueWriter) => T): T;
  /**
   * A read-only view of the database at this moment. The view is valid until the view or the database is closed. While
   * the view is open, the database cannot reuse freed space, so the file of the database grows. A view should therefore
   * stay open for a few seconds at most.
   */
  snapshot(): KeyValue;
  close(): Promise<void>;
}

/** The smallest key above all keys that start with the prefix. The prefix must contain at least one byte below 255. */
export function afterPrefix(prefix: Uint8Array): Buffer {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  const after = Buffer.from(prefix.subarray(0, end));
  after[end - 1] = (after[end - 1] ?? 0) + 1;
  return after;
}

/** All keys that start with the prefix. */
export function prefixRange(prefix: Uint8Array): { readonly gte: Uint8Array; readonly lt: Uint8Array } {
  return { gte: prefix, lt: afterPrefix(prefix) };
}
