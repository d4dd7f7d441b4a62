/**
 * Keys that know how many they are. Each counted table is cut into runs of neighbouring keys whose numbers are kept, so that
 * counting a range and passing over the first million of it cost about the same as the first page does.
 */

import { assert } from '../primitives/errors.ts';
import type { KeyRange, KeyValue, KeyValueEntry, KeyValueReader, KeyValueWriter } from './key-value.ts';
import { afterPrefix, prefixRange } from './key-value.ts';
import { runKey, TABLES, type TableName } from './layout.ts';

/** Tables whose pages are asked for at any depth. */
export const COUNTED_TABLES: readonly TableName[] = [
  'blocksByAmount',
  'blocksByFee',
  'transactionsByAmount',
  'transactionsByFee',
  'transactionsByTimestamp',
  'transactionsByData',
  'accountsByBalance',
  'voters',
];

/** A run that grows beyond this is cut. What is passed over one by one is never more. */
const RUN_KEYS_MAX = 512;
/** Size of the pieces. */
const RUN_KEYS_CUT = 256;
/** Passing over fewer keys than this costs less than finding the place. */
const OFFSET_NEAR = 64;

export class CountedKeyValue implements KeyValue {
  readonly #inner: KeyValue;
  /** By the number of the table; read from the disk when first asked for. */
  readonly #runs = new Map<number, Runs | undefined>();

  constructor(inner: KeyValue) {
    this.#inner = inner;
    for (const name of COUNTED_TABLES) this.#runs.set(TABLES[name].number, undefined);
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#inner.get(key);
  }

  entries(range: KeyRange): Iterable<KeyValueEntry> {
    const near = this.#near(range);
    return near === undefined ? [] : this.#inner.entries(near);
  }

  keys(range: KeyRange): Iterable<Buffer> {
    const near = this.#near(range);
    return near === undefined ? [] : this.#inner.keys(near);
  }

  count(range: KeyRange): number {
    const runs = this.#runsOf(range);
    return runs === undefined
      ? this.#inner.count(range)
      : runs.rank(this.#inner, range.lt) - runs.rank(this.#inner, range.gte);
  }

  transact<T>(work: (writer: KeyValueWriter) => T): T {
    try {
      return this.#inner.transact((writer) => {
        const result = work(this.#counting(writer));
        for (const runs of this.#runs.values()) runs?.save(writer);
        return result;
      });
    } catch (error) {
      for (const table of this.#runs.keys()) this.#runs.set(table, undefined);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #counting(writer: KeyValueWriter): KeyValueWriter {
    const change = (key: Uint8Array, by: 1 | -1): void => {
      const table = key[0] ?? 0;
      if (!this.#runs.has(table) || (writer.get(key) !== undefined) === (by === 1)) return;
      this.#load(table, writer).add(key, by);
    };
    return {
      get: (key) => writer.get(key),
      entries: (range) => writer.entries(range),
      keys: (range) => writer.keys(range),
      count: (range) => writer.count(range),
      put: (key, value) => {
        change(key, 1);
        writer.put(key, value);
      },
      remove: (key) => {
        change(key, -1);
        writer.remove(key);
      },
    };
  }

  /** The same range with a bound in place of a large offset; undefined when nothing is left. */
  #near(range: KeyRange): KeyRange | undefined {
    const { offset = 0, ...rest } = range;
    const runs = offset < OFFSET_NEAR ? undefined : this.#runsOf(range);
    if (runs === undefined) return range;
    const from = runs.rank(this.#inner, range.gte);
    const to = runs.rank(this.#inner, range.lt);
    if (offset >= to - from) return undefined;
    const key = runs.keyAt(this.#inner, range.reverse ? to - 1 - offset : from + offset);
    return range.reverse ? { ...rest, lt: Buffer.concat([key, Buffer.from([0])]) } : { ...rest, gte: key };
  }

  /** Runs of the one counted table that a range lies in. */
  #runsOf({ gte, lt }: KeyRange): Runs | undefined {
    const table = gte[0] ?? 0;
    if (!this.#runs.has(table) || Buffer.compare(gte, lt) >= 0) return undefined;
    const isWithin = lt[0] === table || (lt.length === 1 && lt[0] === table + 1);
    return isWithin ? this.#load(table, this.#inner) : undefined;
  }

  #load(table: number, reader: KeyValueReader): Runs {
    let runs = this.#runs.get(table);
    if (runs === undefined) this.#runs.set(table, (runs = new Runs(table, reader)));
    return runs;
  }
}

/** The runs of one table: where each begins and how many keys it holds. The first begins with the table. */
class Runs {
  readonly #table: number;
  readonly #starts: Buffer[];
  readonly #sizes: number[];
  /** Runs whose size is not on the disk yet, by their start in hexadecimal. */
  readonly #unsaved = new Set<string>();

  constructor(table: number, reader: KeyValueReader) {
    this.#table = table;
    this.#starts = [Buffer.from([table])];
    this.#sizes = [0];
    for (const { key, value } of reader.entries(prefixRange(runKey(Buffer.from([table]))))) {
      const start = Buffer.from(key.subarray(1));
      if (start.length === 1) this.#sizes[0] = value.readUInt32BE();
      else {
        this.#starts.push(start);
        this.#sizes.push(value.readUInt32BE());
      }
    }
  }

  /** Keys below a bound. */
  rank(reader: KeyValueReader, bound: Uint8Array): number {
    const at = this.#runAt(bound);
    let before = 0;
    for (let run = 0; run < at; run += 1) before += this.#sizes[run] ?? 0;
    const gte = this.#starts[at];
    assert(gte !== undefined, 'each key lies in a run');
    if ((bound[0] ?? 0) > this.#table) return before + (this.#sizes[at] ?? 0);
    return before + (Buffer.compare(gte, bound) < 0 ? reader.count({ gte, lt: bound }) : 0);
  }

  /** The key with so many below it. @param rank from 0 to one below the number of keys */
  keyAt(reader: KeyValueReader, rank: number): Buffer {
    let run = 0;
    let offset = rank;
    while (offset >= (this.#sizes[run] ?? 0) && run < this.#sizes.length - 1) {
      offset -= this.#sizes[run] ?? 0;
      run += 1;
    }
    const [key] = reader.keys({ ...this.#rangeOf(run), offset, limit: 1 });
    assert(key !== undefined, 'a run holds as many keys as it says');
    return key;
  }

  add(key: Uint8Array, by: 1 | -1): void {
    const at = this.#runAt(key);
    this.#sizes[at] = (this.#sizes[at] ?? 0) + by;
    this.#unsaved.add(this.#starts[at]?.toString('hex') ?? '');
  }

  /** Writes what changed; cuts what grew too large, joins what is empty to its neighbour. */
  save(writer: KeyValueWriter): void {
    for (const text of this.#unsaved) {
      const start = Buffer.from(text, 'hex');
      const at = this.#runAt(start);
      const size = this.#sizes[at] ?? 0;
      if (size > RUN_KEYS_MAX) this.#cut(at, writer);
      else if (size > 0) this.#put(at, writer);
      else {
        writer.remove(runKey(start));
        if (at === 0) continue;
        this.#starts.splice(at, 1);
        this.#sizes.splice(at, 1);
      }
    }
    this.#unsaved.clear();
  }

  #cut(at: number, writer: KeyValueWriter): void {
    const keys = Array.from(writer.keys(this.#rangeOf(at)));
    const pieces = Math.ceil(keys.length / RUN_KEYS_CUT);
    const starts = Array.from({ length: pieces }, (_, piece) => Math.floor((piece * keys.length) / pieces));
    const sizes = starts.map((from, piece) => (starts[piece + 1] ?? keys.length) - from);
    const added = starts.slice(1).map((from) => Buffer.from(keys[from] ?? []));
    this.#starts.splice(at + 1, 0, ...added);
    this.#sizes.splice(at, 1, ...sizes);
    for (let run = at; run < at + pieces; run += 1) this.#put(run, writer);
  }

  #put(at: number, writer: KeyValueWriter): void {
    const start = this.#starts[at];
    assert(start !== undefined, 'a run has a start');
    const value = Buffer.allocUnsafe(4);
    value.writeUInt32BE(this.#sizes[at] ?? 0);
    writer.put(runKey(start), value);
  }

  #rangeOf(run: number): Pick<KeyRange, 'gte' | 'lt'> {
    const gte = this.#starts[run];
    assert(gte !== undefined, 'a run has a start');
    return { gte, lt: this.#starts[run + 1] ?? afterPrefix(Buffer.from([this.#table])) };
  }

  /** The run that a key lies in: the last one that does not begin above it. */
  #runAt(key: Uint8Array): number {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      const start = this.#starts[middle];
      if (start !== undefined && Buffer.compare(start, key) <= 0) low = middle;
      else high = middle;
    }
    return low;
  }
}
