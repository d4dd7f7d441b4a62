/**
 * Implements an order-statistic B-tree whose leaves are the leaf blocks of a counted table (see counted-key-sets.ts).
 * An inner block of the lowest level contains the start (`LeafPlace.start`) and the number of keys of each leaf block
 * below it. An inner block of a higher level contains the start of each inner block directly below it, and the number
 * of keys in the subtree of each of these blocks. Both the leaf blocks and the inner blocks are entries of the store's
 * database. The tree reads an inner block from the disk only when a method needs the block. A search needs one inner
 * block of each level. The trees of all tables share a cache of at most `INNER_BLOCKS_CACHED_MAX` inner blocks.
 * Therefore, the time to open a store does not depend on the number of leaf blocks, and the memory of this cache does
 * not depend on this number either.
 */

import type { LruMap } from '../../primitives/bounded.ts';
import { assert } from '../../primitives/errors.ts';
import type { KeyValueReader, KeyValueWriter } from '../tables/key-value.ts';
import { TABLES } from '../tables/layout.ts';
import { InnerBlock } from './inner-block.ts';
import { KeyBlock } from './key-block.ts';

/**
 * Sizes in bytes for the splitting of blocks. A block that has more bytes than the member with `Max` in its name is
 * split. Each resulting block has at most as many bytes as the member with `Cut` in its name.
 */
export interface BlockSizes {
  readonly leafBytesMax: number;
  readonly leafBytesCut: number;
  readonly innerBytesMax: number;
  readonly innerBytesCut: number;
}

/**
 * Cache of inner blocks that were read or written recently. The cached blocks have no unwritten changes.
 */
export type CachedBlocks = LruMap<string, InnerBlock>;

/** A step on the path to a leaf block: an inner block, and the child through which the path leads. */
interface Step {
  readonly block: InnerBlock;
  readonly child: number;
}

/**
 * The path to a leaf block. The first step is the inner block directly above the leaf block, and the last step is the
 * root. The path is valid until a leaf block is inserted or removed.
 */
export type LeafPath = readonly Step[];

/** The place of a leaf block in the tree. */
export interface LeafPlace {
  readonly path: LeafPath;
  /**
   * The first key of the leaf block at the time when the block was created. Since then, this key can have been removed.
   * For the first leaf block of a table, `start` is only the number of the table, with which all keys of the table
   * begin.
   */
  readonly start: Buffer;
  readonly size: number;
}

export class OrderStatisticTree {
  readonly #table: number;
  readonly #first: Buffer;
  readonly #disk: KeyValueReader;
  readonly #read: CachedBlocks;
  readonly #sizes: BlockSizes;
  readonly #changed = new Map<string, InnerBlock>();
  readonly #removed = new Map<string, InnerBlock>();
  /** Level of the root; 0 if there is no root; undefined before the first use. */
  #height: number | undefined;

  constructor(table: number, disk: KeyValueReader, read: CachedBlocks, sizes: BlockSizes) {
    this.#table = table;
    this.#first = Buffer.from([table]);
    this.#disk = disk;
    this.#read = read;
    this.#sizes = sizes;
  }

  /** Number of keys in all leaf blocks. */
  get total(): number {
    return this.#root().total;
  }

  /** Finds the leaf block in whose range a key lies, even if the leaf block does not contain the key. */
  find(key: Uint8Array): LeafPlace {
    const path: Step[] = [];
    let block = this.#root();
    for (;;) {
      const child = block.childOf(key);
      path.unshift({ block, child });
      if (block.level === 1) return placeOf(path);
      block = this.#below(block, child);
    }
  }

  /**
   * Finds the leaf block that contains the key at a rank, and the position of the key in that block. The rank of the
   * first key of the table is 0. The result is undefined if the table has no key at this rank.
   */
  at(rank: number): { readonly leaf: LeafPlace; readonly index: number } | undefined {
    const path: Step[] = [];
    let block = this.#root();
    let left = rank;
    for (;;) {
      let child = 0;
      for (; child < block.children && left >= (block.sizes[child] ?? 0); child += 1) left -= block.sizes[child] ?? 0;
      if (child === block.children) return undefined;
      path.unshift({ block, child });
      if (block.level === 1) return { leaf: placeOf(path), index: left };
      block = this.#below(block, child);
    }
  }

  /** Returns the number of keys in all leaf blocks before the given leaf block. */
  before({ path }: LeafPlace): number {
    return path.reduce((sum, { block, child }) => sum + block.before(child), 0);
  }

  /**
   * Returns the start of the next leaf block; undefined for the last leaf block. The method reads nothing from the
   * disk, because the start of an inner block is the start of its first leaf block.
   */
  endOf({ path }: LeafPlace): Buffer | undefined {
    const step = path.find(({ block, child }) => child + 1 < block.children);
    return step?.block.starts.key(step.child + 1);
  }

  /**
   * Returns the next leaf block if `by` is 1, or the previous leaf block if `by` is -1. The result is undefined if
   * there is no such leaf block.
   */
  beside({ path }: LeafPlace, by: 1 | -1): LeafPlace | undefined {
    const at = path.findIndex(({ block, child }) => child + by >= 0 && child + by < block.children);
    const step = path[at];
    if (step === undefined) return undefined;
    const found: Step[] = [{ block: step.block, child: step.child + by }, ...path.slice(at + 1)];
    for (let below = at; below > 0; below -= 1) {
      const [above] = found;
      assert(above !== undefined, 'a path has at least one step');
      const block = this.#below(above.block, above.child);
      found.unshift({ block, child: by === 1 ? 0 : block.children - 1 });
    }
    return placeOf(found);
  }

  /** Adds `by`, which can be negative, to the number of keys of a leaf block. */
  grow({ path }: LeafPlace, by: number): void {
    if (by === 0) return;
    for (const { block, child } of path) {
      block.sizes[child] = (block.sizes[child] ?? 0) + by;
      this.#change(block);
    }
  }

  /**
   * Inserts leaf blocks that were split off from another leaf block.
   *
   * @param leaf the leaf block that was split; its number of keys falls by the number of keys that moved to `leaves`
   */
  insertBehind(leaf: LeafPlace, leaves: readonly { readonly start: Buffer; readonly size: number }[]): void {
    this.grow(leaf, -leaves.reduce((sum, { size }) => sum + size, 0));
    for (const { start, size } of leaves) this.#insert(this.find(start).path, start, size);
  }

  /**
   * Removes an empty leaf block from the tree. Exception: the first leaf block below an inner block stays in the tree
   * without keys until the inner block itself is removed. The reason: an inner block is stored under its start, and
   * this start must be equal to the start of the first leaf block below the inner block.
   */
  remove({ path }: LeafPlace): void {
    for (const { block, child } of path) {
      if (block.sizes[child] !== 0) break;
      if (child === 0) continue;
      if (block.level > 1) this.#forgetAll(this.#below(block, child));
      block.remove(child);
      this.#change(block);
    }
    if (this.total === 0) this.#clear();
  }

  save(writer: KeyValueWriter): void {
    for (const block of this.#removed.values()) writer.remove(this.#keyOf(block.level, block.start));
    this.#removed.clear();
    for (const [name, block] of this.#changed) {
      writer.put(this.#keyOf(block.level, block.start), block.packed());
      this.#read.set(name, block);
    }
    this.#changed.clear();
  }

  /**
   * Checks the inner blocks on the disk. Returns the start of the root in three cases: the starts in an inner block are
   * not in order, an inner block is missing, or the number of keys in an inner block differs from the number in the
   * parent block. If an inner block is on the disk but is not part of the tree, the method returns the start of this
   * inner block. Returns undefined if all inner blocks are correct.
   */
  wrongBlock(): Buffer | undefined {
    const known = new Set<string>();
    const isWrong = (block: InnerBlock): boolean => {
      known.add(this.#keyOf(block.level, block.start).toString('hex'));
      for (let child = 0; child < block.children; child += 1) {
        const start = block.starts.key(child);
        const isInOrder =
          child === 0 ? start.equals(block.start) : Buffer.compare(block.starts.key(child - 1), start) < 0;
        if (!isInOrder) return true;
        if (block.level === 1) continue;
        const below = this.#stored(block.level - 1, start);
        if (below === undefined || below.total !== block.sizes[child] || isWrong(below)) return true;
      }
      return false;
    };
    const keys = Array.from(this.#disk.keys(TABLES.innerBlocks.range(this.#table)));
    if (keys.length === 0) return undefined;
    const root = this.#root();
    if (isWrong(root)) return root.start;
    const surplus = keys.find((key) => !known.has(key.toString('hex')));
    return surplus === undefined ? undefined : Buffer.concat([this.#first, TABLES.innerBlocks.read(surplus)[2]]);
  }

  #insert(path: LeafPath, start: Buffer, size: number): void {
    const [step, ...above] = path;
    assert(step !== undefined, 'an inserted block has a predecessor');
    const { block, child } = step;
    block.insert(start, size, child + 1);
    this.#change(block);
    for (const each of above) {
      each.block.sizes[each.child] = (each.block.sizes[each.child] ?? 0) + size;
      this.#change(each.block);
    }
    if (block.bytes > this.#sizes.innerBytesMax) this.#cut(block, above);
  }

  #cut(block: InnerBlock, above: LeafPath): void {
    const [first, ...others] = block.split(this.#sizes.innerBytesCut);
    assert(first !== undefined, 'an inner block that is too large has children');
    this.#change(first);
    for (const other of others) this.#change(other);
    const [parent, ...rest] = above;
    if (parent === undefined) {
      this.#height = block.level + 1;
      const chunks = [first, ...others];
      const starts = KeyBlock.from(chunks.map(({ start }) => start));
      this.#change(
        new InnerBlock(
          this.#height,
          this.#first,
          starts,
          chunks.map(({ total }) => total),
        ),
      );
      return;
    }
    parent.block.sizes[parent.child] = first.total;
    for (const [at, { start, total }] of others.entries()) parent.block.insert(start, total, parent.child + 1 + at);
    this.#change(parent.block);
    if (parent.block.bytes > this.#sizes.innerBytesMax) this.#cut(parent.block, rest);
  }

  /** Removes all inner blocks of a table that has no keys. */
  #clear(): void {
    this.#forgetAll(this.#root());
    this.#height = 0;
  }

  #root(): InnerBlock {
    if (this.#height === undefined) {
      const [last] = this.#disk.keys({ ...TABLES.innerBlocks.range(this.#table), reverse: true, limit: 1 });
      this.#height = last === undefined ? 0 : TABLES.innerBlocks.read(last)[1];
    }
    if (this.#height > 0) return this.#block(this.#height, this.#first);
    this.#height = 1;
    const root = InnerBlock.empty(1, this.#first);
    this.#read.set(nameOf(1, this.#first), root);
    return root;
  }

  #below(block: InnerBlock, child: number): InnerBlock {
    return this.#block(block.level - 1, block.starts.key(child));
  }

  #block(level: number, start: Buffer): InnerBlock {
    const name = nameOf(level, start);
    const known = this.#changed.get(name) ?? this.#read.get(name);
    if (known !== undefined) return known;
    const block = this.#stored(level, start) ?? InnerBlock.empty(level, start);
    this.#read.set(name, block);
    return block;
  }

  #stored(level: number, start: Buffer): InnerBlock | undefined {
    const value = this.#disk.get(this.#keyOf(level, start));
    return value === undefined ? undefined : InnerBlock.read(level, start, value);
  }

  #change(block: InnerBlock): void {
    const name = nameOf(block.level, block.start);
    this.#changed.set(name, block);
    this.#removed.delete(name);
    this.#read.delete(name);
  }

  /**
   * Removes an inner block and all inner blocks below it. The leaf blocks below these inner blocks must have no keys.
   */
  #forgetAll(block: InnerBlock): void {
    for (let child = 0; block.level > 1 && child < block.children; child += 1) {
      this.#forgetAll(this.#below(block, child));
    }
    this.#forget(block);
  }

  #forget(block: InnerBlock): void {
    const name = nameOf(block.level, block.start);
    this.#changed.delete(name);
    this.#read.delete(name);
    this.#removed.set(name, block);
  }

  #keyOf(level: number, start: Buffer): Buffer {
    return TABLES.innerBlocks.key(this.#table, level, start.subarray(1));
  }
}

function placeOf(path: LeafPath): LeafPlace {
  const [step] = path;
  assert(step !== undefined, 'each key is in a leaf');
  return { path, start: step.block.starts.key(step.child), size: step.block.sizes[step.child] ?? 0 };
}

function nameOf(level: number, start: Buffer): string {
  return String.fromCharCode(level) + start.toString('latin1');
}
