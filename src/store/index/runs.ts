/** The runs of neighbouring keys that a counted table is cut into, and their numbers. */

import { assert } from '../../primitives/errors.ts';
import type { LruMap } from '../../primitives/bounded.ts';
import { KeyRun } from './key-run.ts';
import { prefixRange, type KeyRange, type KeyValueReader, type KeyValueWriter } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';

/** A run that grows beyond this is cut: a small multiple of what the disk writes at once. */
export const RUN_BYTES_MAX = 8000;
/** Size of the pieces: with its key such a value fills a page of the disk. */
const RUN_BYTES_CUT = 4000;
/** Runs whose numbers are added up one by one. For more, those before each run are added up once for all. */
const RUNS_WALKED_MAX = 32;
/** As few keys are put into a run one by one: to make it anew takes longer. */
const KEYS_ALONE_MAX = 4;
/** Bytes of the number of a run's keys. */
const SIZE_BYTES = 4;

/** Runs lately read, as they are on the disk. */
export type ReadRuns = LruMap<Run, KeyRun>;

/** Neighbouring keys, from `start` to the start of the next run. */
export interface Run {
  /**
   * Its table first; the first run of a table begins with that alone. Bytes as characters: all starts of a table stand in
   * memory, and as a buffer of its own each would take five times as much.
   */
  readonly start: string;
  size: number;
  /** As changed by the running transaction; undefined when it is as on the disk. */
  changed: KeyRun | undefined;
}

/** A place among the keys of a table: position of the run, and of the key in it. */
interface KeyPlace {
  readonly at: number;
  readonly index: number;
}

/** Runs that were cut off another, to be inserted behind it. */
interface CutOff {
  readonly behind: number;
  readonly runs: readonly Run[];
}

/** The runs of one table, in the order of their keys. */
export class Runs {
  readonly #table: number;
  readonly #disk: KeyValueReader;
  readonly #read: ReadRuns;
  readonly #runs: Run[];
  readonly #changed: Run[] = [];
  /** Position of the run that was changed last: the next change is often in the same. */
  #latest = 0;
  /** Keys before each run; undefined since something changed. */
  #before: Float64Array | undefined;

  constructor(table: number, disk: KeyValueReader, read: ReadRuns) {
    this.#table = table;
    this.#disk = disk;
    this.#read = read;
    const first: Run = { start: textOf(Buffer.from([table])), size: 0, changed: undefined };
    this.#runs = [first];
    for (const { key, value } of disk.entries(prefixRange(TABLES.runs.key(keyOf(first.start))))) {
      const start = textOf(key.subarray(1));
      const size = value.length === SIZE_BYTES ? value.readUInt32BE() : 0;
      if (start.length === 1) first.size = size;
      else this.#runs.push({ start, size, changed: undefined });
    }
  }

  /** Runs that were changed since the last `save`. */
  get changes(): number {
    return this.#changed.length;
  }

  has(key: Uint8Array): boolean {
    return this.#keysOf(this.#run(this.#runAt(key))).has(key);
  }

  /** Number of keys of a range within the table. */
  count(gte: Uint8Array, lt: Uint8Array): number {
    const [from, to] = [this.#placeOf(gte), this.#placeOf(lt)];
    return to.index - from.index + this.#between(from.at, to.at);
  }

  /** Keys of a range within the table. */
  *keys({ gte, lt, reverse = false, offset = 0 }: KeyRange, limit: number): Iterable<Buffer> {
    const [from, to] = [this.#placeOf(gte), this.#placeOf(lt)];
    const size = to.index - from.index + this.#between(from.at, to.at);
    let left = Math.min(limit, size - offset);
    if (left <= 0) return;
    let { at, index } = this.#passedOver(reverse ? to : from, reverse ? -1 - offset : offset);
    let keys = this.#keysOf(this.#run(at));
    for (; left > 0; left -= 1) {
      while (index < 0 || index >= keys.size) {
        at += index < 0 ? -1 : 1;
        // A number that says more than its run holds: damage, which `wrongRun` tells of.
        if (at < 0 || at >= this.#runs.length) return;
        keys = this.#keysOf(this.#run(at));
        index = index < 0 ? keys.size - 1 : 0;
      }
      yield keys.key(index);
      index += reverse ? -1 : 1;
    }
  }

  add(key: Uint8Array): void {
    const run = this.#runToChange(key);
    const keys = this.#change(run);
    if (!keys.add(key)) return;
    run.size += 1;
    this.#before = undefined;
    if (keys.bytes > RUN_BYTES_MAX) this.#insert([this.#cut(this.#latest, keys)]);
  }

  /** Adds keys, each run's together. @param keys ascending */
  addSorted(keys: KeyRun): void {
    const cuts: CutOff[] = [];
    for (let from = 0; from < keys.size;) {
      const run = this.#runToChange(keys.key(from));
      const next = this.#runs[this.#latest + 1];
      const to = next === undefined ? keys.size : keys.rank(keyOf(next.start), from);
      const changed = this.#change(run);
      if (to - from > KEYS_ALONE_MAX) run.size += changed.addAll(keys, from, to);
      else for (let at = from; at < to; at += 1) run.size += Number(changed.add(keys.key(at)));
      // The next key lies behind all of the run.
      if (changed.bytes > RUN_BYTES_MAX) cuts.push(this.#cut(this.#latest, changed));
      from = to;
    }
    this.#insert(cuts);
    this.#before = undefined;
  }

  remove(key: Uint8Array): void {
    const run = this.#runToChange(key);
    if (!this.#change(run).remove(key)) return;
    run.size -= 1;
    this.#before = undefined;
  }

  /** Writes what changed; joins what is empty to its neighbour. */
  save(writer: KeyValueWriter): void {
    for (const run of this.#changed.splice(0)) {
      const { changed } = run;
      if (changed === undefined) continue;
      run.changed = undefined;
      if (run.size > 0) this.#put(run, changed, writer);
      else {
        const start = keyOf(run.start);
        writer.remove(TABLES.runs.key(start));
        writer.remove(start);
        this.#read.set(run, changed);
        const at = this.#runAt(start);
        if (at > 0) this.#runs.splice(at, 1);
      }
    }
    this.#latest = 0;
    this.#before = undefined;
  }

  wrongRun(): Buffer | undefined {
    const table = prefixRange(keyOf(this.#run(0).start));
    const onDisk = new Set(Array.from(this.#disk.keys(table), textOf));
    for (const [at, run] of this.#runs.entries()) {
      const start = keyOf(run.start);
      const keys = Array.from({ length: this.#keysOf(run).size }, (_, index) => this.#keysOf(run).key(index));
      const isKnown = onDisk.delete(run.start);
      const behind = this.#runs[at + 1];
      const end = behind === undefined ? table.lt : keyOf(behind.start);
      const isOrdered = keys.every((key, index) => {
        const next = keys[index + 1] ?? end;
        return Buffer.compare(start, key) <= 0 && Buffer.compare(key, next) < 0;
      });
      if (keys.length !== run.size || isKnown !== keys.length > 0 || !isOrdered) return start;
    }
    const [surplus] = onDisk;
    return surplus === undefined ? undefined : keyOf(surplus);
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

  /** The place of the first key that is not below a bound. */
  #placeOf(bound: Uint8Array): KeyPlace {
    if ((bound[0] ?? 0) > this.#table) {
      const at = this.#runs.length - 1;
      return { at, index: this.#run(at).size };
    }
    const at = this.#runAt(bound);
    return { at, index: this.#keysOf(this.#run(at)).rank(bound) };
  }

  /** Keys of the runs from one to below another. */
  #between(from: number, to: number): number {
    if (to - from > RUNS_WALKED_MAX) return (this.#sums()[to] ?? 0) - (this.#sums()[from] ?? 0);
    let keys = 0;
    for (let at = from; at < to; at += 1) keys += this.#run(at).size;
    return keys;
  }

  /** The place so many keys behind another; in front of it for a negative number. */
  #passedOver({ at, index }: KeyPlace, by: number): KeyPlace {
    const moved = index + by;
    if (moved >= 0 && moved < this.#run(at).size) return { at, index: moved };
    const before = this.#sums();
    const rank = (before[at] ?? 0) + moved;
    // The last run with no more keys before it, which holds the key: an empty one can only be the first.
    let low = 0;
    let high = this.#runs.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((before[middle] ?? 0) <= rank) low = middle;
      else high = middle;
    }
    return { at: low, index: rank - (before[low] ?? 0) };
  }

  #keysOf(run: Run): KeyRun {
    if (run.changed !== undefined) return run.changed;
    const known = this.#read.get(run);
    if (known !== undefined) return known;
    const value = this.#disk.get(keyOf(run.start));
    const keys = value === undefined ? KeyRun.empty() : KeyRun.read(value);
    this.#read.set(run, keys);
    return keys;
  }

  #runToChange(key: Uint8Array): Run {
    if (!this.#isIn(this.#latest, key)) this.#latest = this.#runAt(key);
    return this.#run(this.#latest);
  }

  #change(run: Run): KeyRun {
    if (run.changed !== undefined) return run.changed;
    run.changed = this.#keysOf(run);
    this.#read.delete(run);
    this.#changed.push(run);
    return run.changed;
  }

  #cut(at: number, keys: KeyRun): CutOff {
    const whole = this.#run(at);
    const [first, ...others] = keys.split(RUN_BYTES_CUT);
    assert(first !== undefined, 'what grew too large holds keys');
    whole.changed = first;
    whole.size = first.size;
    const runs = others.map((piece): Run => ({ start: textOf(piece.key(0)), size: piece.size, changed: piece }));
    this.#changed.push(...runs);
    return { behind: at, runs };
  }

  /**
   * All in one pass from the end: a long table has hundreds of thousands of runs, and those behind would move up for each.
   *
   * @param cuts in the order of their places
   */
  #insert(cuts: readonly CutOff[]): void {
    let from = this.#runs.length;
    for (const { runs } of cuts) this.#runs.push(...runs);
    let to = this.#runs.length;
    for (const { behind, runs } of cuts.toReversed()) {
      while (from > behind + 1) this.#runs[(to -= 1)] = this.#run((from -= 1));
      for (const run of runs.toReversed()) this.#runs[(to -= 1)] = run;
    }
  }

  #put(run: Run, keys: KeyRun, writer: KeyValueWriter): void {
    const size = Buffer.allocUnsafe(SIZE_BYTES);
    size.writeUInt32BE(run.size);
    const start = keyOf(run.start);
    writer.put(TABLES.runs.key(start), size);
    writer.put(start, keys.packed());
    this.#read.set(run, keys);
  }

  #isIn(at: number, key: Uint8Array): boolean {
    const run = this.#runs[at];
    const next = this.#runs[at + 1];
    if (run === undefined || compareStart(run, key) > 0) return false;
    return next === undefined || compareStart(next, key) > 0;
  }

  /** The run that a key lies in: the last one that does not begin above it. */
  #runAt(key: Uint8Array): number {
    let low = 0;
    let high = this.#runs.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (compareStart(this.#run(middle), key) <= 0) low = middle;
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

function textOf(key: Buffer): string {
  return key.toString('latin1');
}

function keyOf(start: string): Buffer {
  return Buffer.from(start, 'latin1');
}

/** Below zero when the run begins below the key. Keys are short: a loop is faster than a call out of the language. */
function compareStart({ start }: Run, key: Uint8Array): number {
  const common = Math.min(start.length, key.length);
  for (let i = 0; i < common; i += 1) {
    const difference = start.charCodeAt(i) - (key[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return start.length - key.length;
}
