/**
 * Keys without values that know how many they are. Each counted table is cut into runs of neighbouring keys: a run is one
 * value on the disk (key-run.ts), and its number of keys is kept beside it, so that counting a range and passing over the
 * first million of it cost about the same as the first page does. Whoever reads or writes meets the single keys.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { assert } from '../../primitives/errors.ts';
import type { KeyRun } from './key-run.ts';
import { readsOf, type KeyRange, type KeyValue, type KeyValueEntry, type KeyValueWriter } from '../tables/key-value.ts';
import { COUNTED_TABLES, TABLES } from '../tables/layout.ts';
import { EMPTY } from '../tables/ordered-bytes.ts';
import type { ReadBlocks, RunSizes } from './run-tree.ts';
import { RUN_SIZES, Runs, type ReadRuns } from './runs.ts';

/** Changed runs of a table that wait to be written together, where keys come by the thousand: some megabytes. */
export const RUNS_CHANGED_MAX = 512;
/** Runs that are kept in memory as keys, about 8 KB each. */
export const RUNS_READ_MAX = 512;

/** Inner blocks that are kept in memory, about 8 KB each. */
export const BLOCKS_READ_MAX = 256;

export interface CountedWriter extends KeyValueWriter {
  /**
   * Adds keys without values: for many, much faster than one after the other.
   *
   * @param keys of one counted table, ascending; their memory may be used again afterwards
   * @returns runs that were to be changed for them
   */
  putSorted(keys: KeyRun): number;
}

export class CountedKeyValue implements KeyValue {
  readonly #inner: KeyValue;
  /** By the number of the table. */
  readonly #tables = new Map<number, Runs | undefined>();
  readonly #read: ReadRuns = new LruMap(RUNS_READ_MAX);
  readonly #readBlocks: ReadBlocks = new LruMap(BLOCKS_READ_MAX);

  readonly #sizes: RunSizes;

  constructor(inner: KeyValue, sizes: RunSizes = RUN_SIZES) {
    this.#inner = inner;
    this.#sizes = sizes;
    for (const name of COUNTED_TABLES) this.#tables.set(TABLES[name].number, undefined);
  }

  get(key: Uint8Array): Buffer | undefined {
    const runs = this.#runsOf(key[0]);
    return runs === undefined ? this.#inner.get(key) : runs.has(key) ? EMPTY : undefined;
  }

  *entries(range: KeyRange): Iterable<KeyValueEntry> {
    yield* this.#walk(
      range,
      (part) => this.#inner.entries(part),
      (key) => ({ key, value: EMPTY }),
    );
  }

  *keys(range: KeyRange): Iterable<Buffer> {
    yield* this.#walk(
      range,
      (part) => this.#inner.keys(part),
      (key) => key,
    );
  }

  count(range: KeyRange): number {
    return this.#partsOf(range).reduce((sum, { runs, gte, lt }) => {
      return sum + (runs === undefined ? this.#inner.count({ gte, lt }) : runs.count(gte, lt));
    }, 0);
  }

  transact<T>(work: (writer: CountedWriter) => T): T {
    try {
      return this.#inner.transact((writer) => {
        const result = work(this.#counting(writer));
        for (const runs of this.#tables.values()) runs?.save(writer);
        return result;
      });
    } catch (error) {
      for (const table of this.#tables.keys()) this.#tables.set(table, undefined);
      this.#read.clear();
      this.#readBlocks.clear();
      throw error;
    }
  }

  snapshot(): CountedKeyValue {
    return new CountedKeyValue(this.#inner.snapshot(), this.#sizes);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Start of a run on the disk that is none, or that holds other keys than its number and its neighbours say. */
  wrongRun(): Buffer | undefined {
    for (const table of this.#tables.keys()) {
      const wrong = this.#runsOf(table)?.wrongRun();
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #counting(writer: KeyValueWriter): CountedWriter {
    return {
      ...readsOf(this),
      put: (key, value) => {
        const runs = this.#runsOf(key[0]);
        if (runs === undefined) {
          writer.put(key, value);
          return;
        }
        assert(value.length === 0, 'a counted key has no value');
        runs.add(key);
      },
      putSorted: (keys) => {
        if (keys.size === 0) return 0;
        const runs = this.#runsOf(keys.key(0)[0]);
        assert(runs !== undefined, 'sorted keys are of a counted table');
        const before = runs.changes;
        runs.addSorted(keys);
        const changed = runs.changes - before;
        if (runs.changes > RUNS_CHANGED_MAX) runs.save(writer);
        return changed;
      },
      remove: (key) => {
        const runs = this.#runsOf(key[0]);
        if (runs === undefined) writer.remove(key);
        else runs.remove(key);
      },
    };
  }

  /** Runs of a table that is counted. */
  #runsOf(table = 0): Runs | undefined {
    if (!this.#tables.has(table)) return undefined;
    let runs = this.#tables.get(table);
    if (runs === undefined)
      this.#tables.set(table, (runs = new Runs(table, this.#inner, this.#read, this.#readBlocks, this.#sizes)));
    return runs;
  }

  *#walk<T>(
    { gte, lt, reverse = false, limit = Infinity, offset = 0 }: KeyRange,
    others: (range: KeyRange) => Iterable<T>,
    counted: (key: Buffer) => T,
  ): Iterable<T> {
    const parts = this.#partsOf({ gte, lt });
    let [skip, left] = [offset, limit];
    for (const part of reverse ? parts.reverse() : parts) {
      if (left <= 0) return;
      const size = parts.length === 1 || skip === 0 ? Infinity : this.count(part);
      if (skip >= size) {
        skip -= size;
        continue;
      }
      const some = { gte: part.gte, lt: part.lt, reverse, offset: skip };
      if (part.runs === undefined) {
        for (const each of others(left === Infinity ? some : { ...some, limit: left })) {
          yield each;
          left -= 1;
        }
      } else {
        for (const key of part.runs.keys(some, left)) {
          yield counted(key);
          left -= 1;
        }
      }
      skip = 0;
    }
  }

  /** A range as pieces of which each lies in one counted table or in none. */
  #partsOf({ gte, lt }: KeyRange): RangePart[] {
    if (Buffer.compare(gte, lt) >= 0) return [];
    const parts: RangePart[] = [];
    let from = gte;
    for (const table of COUNTED_NUMBERS) {
      const [begin, end] = [Buffer.from([table]), Buffer.from([table + 1])];
      if (table < (from[0] ?? 0) || Buffer.compare(lt, begin) <= 0) continue;
      if (Buffer.compare(from, begin) < 0) parts.push({ runs: undefined, gte: from, lt: begin });
      const isLast = Buffer.compare(lt, end) <= 0;
      parts.push({
        runs: this.#runsOf(table),
        gte: Buffer.compare(from, begin) < 0 ? begin : from,
        lt: isLast ? lt : end,
      });
      if (isLast) return parts;
      from = end;
    }
    parts.push({ runs: undefined, gte: from, lt });
    return parts;
  }
}

const COUNTED_NUMBERS: readonly number[] = COUNTED_TABLES.map((name) => TABLES[name].number).sort((a, b) => a - b);

interface RangePart {
  readonly runs: Runs | undefined;
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}
