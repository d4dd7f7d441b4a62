/**
 * Ordered binary keys with small values, all that the chain store needs of a disk. Keys sort bytewise. Byte arrays that were
 * handed in or out belong to both sides from then on: nobody changes them.
 */

/** Keys from `gte` (inclusive) to `lt` (exclusive), ascending unless `reverse`. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  /** At most this many; all when absent. */
  readonly limit?: number;
  /** Skips this many first. */
  readonly offset?: number;
}

export interface KeyValueEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface KeyValueReader {
  get(key: Uint8Array): Buffer | undefined;
  /** Entries of the range. Write nothing while walking it. */
  entries(range: KeyRange): Iterable<KeyValueEntry>;
  /** Keys of the range. Write nothing while walking it. */
  keys(range: KeyRange): Iterable<Buffer>;
  /** Number of keys of the range, without `limit` and `offset`. */
  count(range: KeyRange): number;
}

/** The reads of a reader, for an object that reads as it does and writes, or ends, in its own way. */
export function readsOf(reader: KeyValueReader): KeyValueReader {
  return {
    get: (key) => reader.get(key),
    entries: (range) => reader.entries(range),
    keys: (range) => reader.keys(range),
    count: (range) => reader.count(range),
  };
}

/** Valid during the transaction that it was handed to. Its reads see its own writes. */
export interface KeyValueWriter extends KeyValueReader {
  /** @param isNew true when the caller knows that the key is not there yet: it need not be looked for */
  put(key: Uint8Array, value: Uint8Array, isNew?: boolean): void;
  /** @param isThere true when the caller knows that the key is there */
  remove(key: Uint8Array, isThere?: boolean): void;
}

export interface KeyValue extends KeyValueReader {
  /**
   * LeafBlocks `work` as one unit: on the disk when this returns, as if it had never been when it throws. Not to be nested.
   */
  transact<T>(work: (writer: KeyValueWriter) => T): T;
  /**
   * The keys as of now, whatever is written afterwards, until its `close` or that of these keys. What is freed meanwhile
   * cannot be used again, so it is for work of seconds.
   */
  snapshot(): KeyValue;
  close(): Promise<void>;
}

/** The smallest key above all that start with the prefix. The prefix must hold a byte below 255. */
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
