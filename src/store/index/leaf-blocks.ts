/**
 * Stores the leaf blocks of a counted table (see counted-key-sets.ts). A leaf block contains keys that follow one
 * another in the table.
 */

import { assert } from '../../primitives/errors.ts';
import type { LruMap } from '../../primitives/bounded.ts';
import type { KeyRange, KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { compareKeys, KeyBlock } from './key-block.ts';
import { OrderStatisticTree, type CachedBlocks, type LeafPlace, type BlockSizes } from './order-statistic-tree.ts';

/** Maximum size of a leaf block in bytes, about two disk pages. A leaf block that grows beyond this size is split. */
export const LEAF_BYTES_MAX = 8000;
/** Maximum size of an inner block in bytes. An inner block that grows beyond this size is split. */
export const INNER_BYTES_MAX = 8000;
/**
 * Default sizes of leaf blocks and inner blocks. Tests use smaller sizes, so that small tables have trees of many
 * levels.
 */
export const BLOCK_SIZES: BlockSizes = {
  leafBytesMax: LEAF_BYTES_MAX,
  // A leaf block of this size (`leafBytesCut`) fits into one overflow page of LMDB.
  leafBytesCut: 4000,
  innerBytesMax: INNER_BYTES_MAX,
  innerBytesCut: 3900,
};
/**
 * Maximum number of keys that `addSorted` adds to a leaf block one by one. If more keys in one call belong to the same
 * leaf block, `addSorted` merges these keys with the keys of the leaf block in one step. For a few keys, merging would
 * take longer.
 */
const KEYS_ALONE_MAX = 4;

/**
 * Cache of leaf blocks that were read or written recently. The cached blocks have no unwritten changes. The key of a
 * leaf block in this cache is `LeafPlace.start` as Latin-1 text.
 */
export type CachedLeaves = LruMap<string, KeyBlock>;

/** A leaf block that includes the changes of the running database transaction. */
interface Leaf {
  readonly place: LeafPlace;
  readonly keys: KeyBlock;
}

/**
 * The leaf block that was changed last. The next change is often in the same block. In this case, the code finds the
 * block without a search of the tree.
 */
interface Latest {
  readonly leaf: Leaf;
  /** The start key of the next leaf block; undefined for the last leaf block. */
  readonly end: Buffer | undefined;
}

/** The leaf blocks of one table, in the order of their keys. */
export class LeafBlocks {
  readonly #table: number;
  readonly #disk: KeyValueReader;
  readonly #read: CachedLeaves;
  readonly #tree: OrderStatisticTree;
  readonly #sizes: BlockSizes;
  /** Leaf blocks that the running database transaction has changed and not written yet. */
  readonly #changed = new Map<string, KeyBlock>();
  #latest: Latest | undefined;

  constructor(table: number, disk: KeyValueReader, read: CachedLeaves, readBlocks: CachedBlocks, sizes: BlockSizes) {
    this.#table = table;
    this.#disk = disk;
    this.#read = read;
    this.#tree = new OrderStatisticTree(table, disk, readBlocks, sizes);
    this.#sizes = sizes;
  }

  /** Number of leaf blocks that were changed since the last `save`. */
  get changes(): number {
    return this.#changed.size;
  }

  has(key: Uint8Array): boolean {
    return this.#keysOf(this.#tree.find(key)).has(key);
  }

  /** Number of keys in a range of the table. */
  count(gte: Uint8Array, lt: Uint8Array): number {
    return this.#rank(lt) - this.#rank(gte);
  }

  /** Returns the keys in a range of the table in ascending order, or in descending order if `reverse` is true. */
  *keys({ gte, lt, reverse = false, offset = 0 }: KeyRange, limit: number): Iterable<Buffer> {
    const from = this.#rank(gte);
    const to = this.#rank(lt);
    let left = Math.min(limit, to - from - offset);
    if (left <= 0) return;
    const found = this.#tree.at(reverse ? to - 1 - offset : from + offset);
    if (found === undefined) return;
    let { leaf, index }: { leaf: LeafPlace | undefined; index: number } = found;
    let keys = this.#keysOf(leaf);
    for (; left > 0; left -= 1) {
      while (index < 0 || index >= keys.size) {
        leaf = this.#tree.beside(leaf, index < 0 ? -1 : 1);
        // If no further leaf block exists, the inner blocks state wrong numbers of keys, so the store is damaged. The
        // method `wrongBlock` reports such damage.
        if (leaf === undefined) return;
        keys = this.#keysOf(leaf);
        index = index < 0 ? keys.size - 1 : 0;
      }
      yield keys.key(index);
      index += reverse ? -1 : 1;
    }
  }

  add(key: Uint8Array): void {
    const { place, keys } = this.#leafToChange(key).leaf;
    if (!keys.add(key)) return;
    this.#tree.grow(place, 1);
    if (keys.bytes > this.#sizes.leafBytesMax) this.#cut(place, keys);
  }

  /**
   * Adds sorted keys. If more than `KEYS_ALONE_MAX` of the keys belong to the same leaf block, the method adds these
   * keys to the block in one step.
   *
   * @param keys ascending keys
   */
  addSorted(keys: KeyBlock): void {
    for (let from = 0; from < keys.size;) {
      const { leaf, end } = this.#leafToChange(keys.key(from));
      const to = end === undefined ? keys.size : keys.rank(end, from);
      let added = 0;
      if (to - from > KEYS_ALONE_MAX) added = leaf.keys.addAll(keys, from, to);
      else for (let at = from; at < to; at += 1) added += Number(leaf.keys.add(keys.key(at)));
      this.#tree.grow(leaf.place, added);
      if (leaf.keys.bytes > this.#sizes.leafBytesMax) this.#cut(leaf.place, leaf.keys);
      from = to;
    }
  }

  remove(key: Uint8Array): void {
    const { place, keys } = this.#leafToChange(key).leaf;
    if (keys.remove(key)) this.#tree.grow(place, -1);
  }

  /** Writes the changed leaf blocks and inner blocks, and removes the leaf blocks that have become empty. */
  save(writer: KeyValueWriter): void {
    this.#latest = undefined;
    for (const [name, keys] of this.#changed) {
      const start = Buffer.from(name, 'latin1');
      if (keys.size > 0) writer.put(start, keys.packed());
      else {
        writer.remove(start);
        const place = this.#tree.find(start);
        if (place.start.equals(start)) this.#tree.remove(place);
      }
      this.#read.set(name, keys);
    }
    this.#changed.clear();
    this.#tree.save(writer);
  }

  /**
   * Finds a damaged block. A block is damaged in each of these cases:
   * - The value of the block cannot be read as a block.
   * - The inner block above the block states another number of keys.
   * - The keys of the block are not in order, or are not all below the keys of the next block.
   * - The block is on the disk, but is not part of the tree.
   *
   * If an inner block is damaged, the method returns the result of `OrderStatisticTree.wrongBlock`. If only leaf blocks
   * are damaged, the method returns the start of the first damaged leaf block. If no block is damaged, the result is
   * undefined.
   */
  wrongBlock(): Buffer | undefined {
    const block = this.#tree.wrongBlock();
    if (block !== undefined) return block;
    const table = { gte: Buffer.from([this.#table]), lt: Buffer.from([this.#table + 1]) };
    const onDisk = new Set(Array.from(this.#disk.keys(table), textOf));
    let leaf: LeafPlace | undefined = this.#tree.find(table.gte);
    while (leaf !== undefined) {
      const behind: LeafPlace | undefined = this.#tree.beside(leaf, 1);
      const { start, size } = leaf;
      const end = behind?.start ?? table.lt;
      const found = this.#keysOf(leaf);
      const keys = Array.from({ length: found.size }, (_, index) => found.key(index));
      const isKnown = onDisk.delete(textOf(start));
      const isOrdered = keys.every((key, index) => {
        const next = keys[index + 1] ?? end;
        return Buffer.compare(start, key) <= 0 && Buffer.compare(key, next) < 0;
      });
      if (keys.length !== size || isKnown !== keys.length > 0 || !isOrdered) return start;
      leaf = behind;
    }
    const [surplus] = onDisk;
    return surplus === undefined ? undefined : Buffer.from(surplus, 'latin1');
  }

  /** Number of keys of the table below a bound. */
  #rank(bound: Uint8Array): number {
    if ((bound[0] ?? 0) > this.#table) return this.#tree.total;
    const place = this.#tree.find(bound);
    return this.#tree.before(place) + this.#keysOf(place).rank(bound);
  }

  #keysOf({ start }: LeafPlace): KeyBlock {
    const name = textOf(start);
    const known = this.#changed.get(name) ?? this.#read.get(name);
    if (known !== undefined) return known;
    const value = this.#disk.get(start);
    const keys = value === undefined ? KeyBlock.empty() : KeyBlock.read(value);
    this.#read.set(name, keys);
    return keys;
  }

  #leafToChange(key: Uint8Array): Latest {
    if (this.#latest !== undefined && isIn(this.#latest, key)) return this.#latest;
    const place = this.#tree.find(key);
    const keys = this.#keysOf(place);
    const name = textOf(place.start);
    this.#read.delete(name);
    this.#changed.set(name, keys);
    this.#latest = { leaf: { place, keys }, end: this.#tree.endOf(place) };
    return this.#latest;
  }

  #cut(place: LeafPlace, keys: KeyBlock): void {
    const [first, ...others] = keys.split(this.#sizes.leafBytesCut);
    assert(first !== undefined, 'a leaf block that is too large has keys');
    this.#latest = undefined;
    this.#changed.set(textOf(place.start), first);
    const leaves = others.map((chunk) => ({ start: chunk.key(0), size: chunk.size, chunk }));
    for (const { start, chunk } of leaves) this.#changed.set(textOf(start), chunk);
    this.#tree.insertBehind(place, leaves);
  }
}

function isIn({ leaf, end }: Latest, key: Uint8Array): boolean {
  return compareKeys(leaf.place.start, key) <= 0 && (end === undefined || compareKeys(key, end) < 0);
}

function textOf(key: Buffer): string {
  return key.toString('latin1');
}
