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
  'generatorBlocksByAmount',
  'generatorBlocksByFee',
  'longLists',
  'accountsByBalance',
  'secondPublicKeys',
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

  snapshot(): KeyValue {
    return new CountedKeyValue(this.#inner.snapshot());
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #counting(writer: KeyValueWriter): KeyValueWriter {
    const runsOf = (key: Uint8Array): Runs | undefined => {
      const table = key[0] ?? 0;
      return this.#runs.has(table) ? this.#load(table, writer) : undefined;
    };
    return {
      get: (key) => writer.get(key),
      entries: (range) => writer.entries(range),
      keys: (range) => writer.keys(range),
      count: (range) => writer.count(range),
      put: (key, value, isNew = false) => {
        const runs = runsOf(key);
        if (runs !== undefined && (isNew || writer.get(key) === undefined)) runs.add(key, 1);
        writer.put(key, value);
      },
      remove: (key, isThere = false) => {
        const runs = runsOf(key);
        if (runs !== undefined && (isThere || writer.get(key) !== undefined)) runs.add(key, -1);
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

/** Neighbouring keys, from `start` to the start of the next run. */
interface Run {
  readonly start: Buffer;
  size: number;
  /** True until the size is on the disk. */
  isChanged: boolean;
}

/** The runs of one table, in the order of their keys. The first begins with the table. */
class Runs {
  readonly #table: number;
  readonly #runs: Run[];
  /** Runs whose size is not on the disk yet. */
  readonly #changed: Run[] = [];
  /** Position of the run that was changed last: the next change is often in the same. */
  #latest = 0;
  /** Keys before each run; undefined since something changed. */
  #before: Float64Array | undefined;

  constructor(table: number, reader: KeyValueReader) {
    this.#table = table;
    const first = { start: Buffer.from([table]), size: 0, isChanged: false };
    this.#runs = [first];
    for (const { key, value } of reader.entries(prefixRange(runKey(first.start)))) {
      const start = Buffer.from(key.subarray(1));
      const size = value.readUInt32BE();
      if (start.length === 1) first.size = size;
      else this.#runs.push({ start, size, isChanged: false });
    }
  }

  /** Keys below a bound. */
  rank(reader: KeyValueReader, bound: Uint8Array): number {
    const at = this.#runAt(bound);
    const before = this.#sums()[at] ?? 0;
    const { start: gte, size } = this.#run(at);
    if ((bound[0] ?? 0) > this.#table) return before + size;
    return before + (Buffer.compare(gte, bound) < 0 ? reader.count({ gte, lt: bound }) : 0);
  }

  /** The key with so many below it. @param rank from 0 to one below the number of keys */
  keyAt(reader: KeyValueReader, rank: number): Buffer {
    const before = this.#sums();
    // The last run with no more keys before it, which holds the key: an empty one can only be the first.
    let run = 0;
    let high = this.#runs.length;
    while (high - run > 1) {
      const middle = (run + high) >> 1;
      if ((before[middle] ?? 0) <= rank) run = middle;
      else high = middle;
    }
    const offset = rank - (before[run] ?? 0);
    const [key] = reader.keys({ ...this.#rangeOf(run), offset, limit: 1 });
    assert(key !== undefined, 'a run holds as many keys as it says');
    return key;
  }

  add(key: Uint8Array, by: 1 | -1): void {
    if (!this.#isIn(this.#latest, key)) this.#latest = this.#runAt(key);
    const run = this.#run(this.#latest);
    run.size += by;
    this.#before = undefined;
    if (run.isChanged) return;
    run.isChanged = true;
    this.#changed.push(run);
  }

  /** Writes what changed; cuts what grew too large, joins what is empty to its neighbour. */
  save(writer: KeyValueWriter): void {
    for (const run of this.#changed.splice(0)) {
      run.isChanged = false;
      if (run.size > RUN_KEYS_MAX) this.#cut(this.#runAt(run.start), writer);
      else if (run.size > 0) this.#put(run, writer);
      else {
        writer.remove(runKey(run.start));
        const at = this.#runAt(run.start);
        if (at > 0) this.#runs.splice(at, 1);
      }
    }
    this.#latest = 0;
    this.#before = undefined;
  }

  #sums(): Float64Array {
    if (this.#before !== undefined) return this.#before;
    const before = new Float64Array(this.#runs.length);
    let sum = 0;
    for (const [at, { size }] of this.#runs.entries()) {
      before[at] = sum;
      sum += size;
    }
    this.#before = before;
    return before;
  }

  #cut(at: number, writer: KeyValueWriter): void {
    const keys = Array.from(writer.keys(this.#rangeOf(at)));
    const pieces = Math.ceil(keys.length / RUN_KEYS_CUT);
    const starts = Array.from({ length: pieces }, (_, piece) => Math.floor((piece * keys.length) / pieces));
    const runs = starts.map((from, piece) => ({
      start: piece === 0 ? this.#run(at).start : Buffer.from(keys[from] ?? []),
      size: (starts[piece + 1] ?? keys.length) - from,
      isChanged: false,
    }));
    this.#runs.splice(at, 1, ...runs);
    for (const run of runs) this.#put(run, writer);
  }

  #put({ start, size }: Run, writer: KeyValueWriter): void {
    const value = Buffer.allocUnsafe(4);
    value.writeUInt32BE(size);
    writer.put(runKey(start), value);
  }

  #rangeOf(at: number): Pick<KeyRange, 'gte' | 'lt'> {
    return { gte: this.#run(at).start, lt: this.#runs[at + 1]?.start ?? afterPrefix(Buffer.from([this.#table])) };
  }

  #isIn(at: number, key: Uint8Array): boolean {
    const next = this.#runs[at + 1];
    return Buffer.compare(this.#run(at).start, key) <= 0 && (next === undefined || Buffer.compare(key, next.start) < 0);
  }

  /** The run that a key lies in: the last one that does not begin above it. */
  #runAt(key: Uint8Array): number {
    let low = 0;
    let high = this.#runs.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(this.#run(middle).start, key) <= 0) low = middle;
      else high = middle;
    }
    return low;
  }

  #run(at: number): Run {
    const run = this.#runs[at];
    assert(run !== undefined, 'each key lies in a run');
    return run;
  }
}
