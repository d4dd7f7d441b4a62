/**
 * Stores counted key sets. Each set contains the keys of one table of the store (a counted table). These keys have no
 * values. A counted key set can count the keys of any range fast. The set is split into leaf blocks of neighbouring
 * keys. A leaf block is one value on the disk (see key-block.ts). Inner blocks form a tree above the leaf blocks. An
 * inner block stores the number of keys in the subtree of each of its child blocks. Counting the keys of a range, or
 * skipping the first million keys of a range, therefore reads only a few blocks. Callers work with single keys, and not
 * with leaf blocks or inner blocks. Only `putSorted` takes several keys in one call, as a `KeyBlock`.
 */

import { LruMap } from '../../primitives/bounded.ts';
import { assert } from '../../primitives/errors.ts';
import type { KeyBlock } from './key-block.ts';
import { readsOf, type KeyRange, type KeyValue, type KeyValueEntry, type KeyValueWriter } from '../tables/key-value.ts';
import { COUNTED_TABLES, TABLES } from '../tables/layout.ts';
import { EMPTY } from '../tables/ordered-bytes.ts';
import type { CachedBlocks, BlockSizes } from './order-statistic-tree.ts';
import { BLOCK_SIZES, LeafBlocks, type CachedLeaves } from './leaf-blocks.ts';

/**
 * Maximum number of leaf blocks with unwritten changes after a call of `putSorted`, of all tables together. If a call
 * exceeds this number, `putSorted` writes all leaf blocks with unwritten changes. In all other cases, the changed leaf
 * blocks stay in memory until the end of the database transaction. This number of changed leaf blocks takes up to 12
 * MB, because a changed leaf block can take three times its packed size in memory.
 */
export const LEAVES_CHANGED_MAX = 512;
/** Maximum number of cached leaf blocks. A leaf block has up to 8,000 bytes. */
export const LEAVES_CACHED_MAX = 512;

/** Maximum number of cached inner blocks. An inner block has up to 8,000 bytes. */
export const INNER_BLOCKS_CACHED_MAX = 256;

export interface CountedWriter extends KeyValueWriter {
  /**
   * Adds many keys without values. One call of `putSorted` is much faster than a call of `put` for each key.
   *
   * @param keys keys of one counted table (a table of keys without values, see `COUNTED_TABLES`), in ascending order.
   *   After the call, the caller is allowed to reuse the memory of these keys
   * @returns number of leaf blocks (stored groups of neighbouring keys) that had no unwritten change before this call,
   *   and that this call has changed
   */
  putSorted(keys: KeyBlock): number;
}

export class CountedKeySets implements KeyValue {
  readonly #inner: KeyValue;
  /**
   * Maps the number of each counted table to the leaf blocks of the table. The leaf blocks are undefined before the
   * first use of the table, and after a failed database transaction.
   */
  readonly #tables = new Map<number, LeafBlocks | undefined>();
  readonly #read: CachedLeaves = new LruMap(LEAVES_CACHED_MAX);
  readonly #readBlocks: CachedBlocks = new LruMap(INNER_BLOCKS_CACHED_MAX);

  readonly #sizes: BlockSizes;

  constructor(inner: KeyValue, sizes: BlockSizes = BLOCK_SIZES) {
    this.#inner = inner;
    this.#sizes = sizes;
    for (const name of COUNTED_TABLES) this.#tables.set(TABLES[name].number, undefined);
  }

  get(key: Uint8Array): Buffer | undefined {
    const leaves = this.#leavesOf(key[0]);
    return leaves === undefined ? this.#inner.get(key) : leaves.has(key) ? EMPTY : undefined;
  }

  withValue<T>(key: Uint8Array, work: (value: Buffer) => T): T | undefined {
    const leaves = this.#leavesOf(key[0]);
    if (leaves === undefined) return this.#inner.withValue(key, work);
    return leaves.has(key) ? work(EMPTY) : undefined;
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
    return this.#partsOf(range).reduce((sum, { leaves, gte, lt }) => {
      return sum + (leaves === undefined ? this.#inner.count({ gte, lt }) : leaves.count(gte, lt));
    }, 0);
  }

  transact<T>(work: (writer: CountedWriter) => T): T {
    try {
      return this.#inner.transact((writer) => {
        const result = work(this.#counting(writer));
        this.#save(writer);
        return result;
      });
    } catch (error) {
      for (const table of this.#tables.keys()) this.#tables.set(table, undefined);
      this.#read.clear();
      this.#readBlocks.clear();
      throw error;
    }
  }

  snapshot(): CountedKeySets {
    return new CountedKeySets(this.#inner.snapshot(), this.#sizes);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /**
   * Finds a damaged block. A block is damaged in each of these cases:
   * - The value of the block cannot be read as a block.
   * - The inner block above the block states another number of keys.
   * - The keys of the block are not in order, or are not all below the keys of the next block.
   * - The block is on the disk, but is not part of the tree.
   *
   * Returns the start of the damaged block. If the damaged block is an inner block of the tree, the method returns the
   * start of the root instead. Returns undefined if no block is damaged.
   */
  wrongBlock(): Buffer | undefined {
    for (const table of this.#tables.keys()) {
      const wrong = this.#leavesOf(table)?.wrongBlock();
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #counting(writer: KeyValueWriter): CountedWriter {
    return {
      ...readsOf(this),
      put: (key, value) => {
        const leaves = this.#leavesOf(key[0]);
        if (leaves === undefined) {
          writer.put(key, value);
          return;
        }
        assert(value.length === 0, 'a counted key has no value');
        leaves.add(key);
      },
      putSorted: (keys) => {
        if (keys.size === 0) return 0;
        const leaves = this.#leavesOf(keys.key(0)[0]);
        assert(leaves !== undefined, 'sorted keys are of a counted table');
        const before = leaves.changes;
        leaves.addSorted(keys);
        const changed = leaves.changes - before;
        if (this.#changes() > LEAVES_CHANGED_MAX) this.#save(writer);
        return changed;
      },
      remove: (key) => {
        const leaves = this.#leavesOf(key[0]);
        if (leaves === undefined) writer.remove(key);
        else leaves.remove(key);
      },
    };
  }

  /** Number of leaf blocks with unwritten changes. */
  #changes(): number {
    let sum = 0;
    for (const leaves of this.#tables.values()) sum += leaves?.changes ?? 0;
    return sum;
  }

  #save(writer: KeyValueWriter): void {
    for (const leaves of this.#tables.values()) leaves?.save(writer);
  }

  /** Returns the leaf blocks of a counted table; undefined for other tables. */
  #leavesOf(table = 0): LeafBlocks | undefined {
    if (!this.#tables.has(table)) return undefined;
    let leaves = this.#tables.get(table);
    if (leaves === undefined)
      this.#tables.set(table, (leaves = new LeafBlocks(table, this.#inner, this.#read, this.#readBlocks, this.#sizes)));
    return leaves;
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
      if (part.leaves === undefined) {
        for (const each of others(left === Infinity ? some : { ...some, limit: left })) {
          yield each;
          left -= 1;
        }
      } else {
        for (const key of part.leaves.keys(some, left)) {
          yield counted(key);
          left -= 1;
        }
      }
      skip = 0;
    }
  }

  /**
   * Splits a range into parts. Each part lies completely in one counted table, or completely outside all counted
   * tables.
   */
  #partsOf({ gte, lt }: KeyRange): RangePart[] {
    if (Buffer.compare(gte, lt) >= 0) return [];
    const parts: RangePart[] = [];
    let from = gte;
    for (const table of COUNTED_NUMBERS) {
      const [begin, end] = [Buffer.from([table]), Buffer.from([table + 1])];
      if (table < (from[0] ?? 0) || Buffer.compare(lt, begin) <= 0) continue;
      if (Buffer.compare(from, begin) < 0) parts.push({ leaves: undefined, gte: from, lt: begin });
      const isLast = Buffer.compare(lt, end) <= 0;
      parts.push({
        leaves: this.#leavesOf(table),
        gte: Buffer.compare(from, begin) < 0 ? begin : from,
        lt: isLast ? lt : end,
      });
      if (isLast) return parts;
      from = end;
    }
    parts.push({ leaves: undefined, gte: from, lt });
    return parts;
  }
}

const COUNTED_NUMBERS: readonly number[] = COUNTED_TABLES.map((name) => TABLES[name].number).sort((a, b) => a - b);

interface RangePart {
  readonly leaves: LeafBlocks | undefined;
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}
