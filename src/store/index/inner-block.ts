/**
 * An inner block of the tree over the leaf blocks of a counted table (see counted-key-sets.ts). For each child, the
 * inner block stores the start of the child (see `LeafPlace.start`), and the number of keys in the subtree of the
 * child.
 */

import { KeyBlock } from './key-block.ts';

const SIZE_BYTES = 4;

export class InnerBlock {
  /** Number of levels above the leaf blocks; 1 for blocks whose children are leaf blocks. */
  readonly level: number;
  /**
   * Start of the first child. The parent of this block lists this block under the same start. The key of this block on
   * the disk contains this start.
   */
  readonly start: Buffer;
  readonly starts: KeyBlock;
  readonly sizes: number[];

  constructor(level: number, start: Buffer, starts: KeyBlock, sizes: number[]) {
    this.level = level;
    this.start = start;
    this.starts = starts;
    this.sizes = sizes;
  }

  /**
   * @param packed result of `packed`. If these bytes are damaged, the returned block has only the children that can be
   *   read. If no child can be read, the block has one child without keys
   */
  static read(level: number, start: Buffer, packed: Buffer): InnerBlock {
    const starts = KeyBlock.read(packed);
    if (starts.size === 0) return InnerBlock.empty(level, start);
    const from = starts.bytes;
    const sizes = Array.from({ length: starts.size }, (_, at) =>
      from + (at + 1) * SIZE_BYTES <= packed.length ? packed.readUInt32BE(from + at * SIZE_BYTES) : 0,
    );
    return new InnerBlock(level, start, starts, sizes);
  }

  /** Creates a block with one child. The child has the same start as the block, and has no keys. */
  static empty(level: number, start: Buffer): InnerBlock {
    return new InnerBlock(level, start, KeyBlock.from([start]), [0]);
  }

  packed(): Buffer {
    const starts = this.starts.packed();
    const bytes = Buffer.allocUnsafe(starts.length + this.sizes.length * SIZE_BYTES);
    bytes.set(starts, 0);
    for (const [at, size] of this.sizes.entries()) bytes.writeUInt32BE(size, starts.length + at * SIZE_BYTES);
    return bytes;
  }

  get children(): number {
    return this.sizes.length;
  }

  /** Length of the result of `packed` in bytes. */
  get bytes(): number {
    return this.starts.bytes + this.sizes.length * SIZE_BYTES;
  }

  /** Number of keys in all leaf blocks under this block. */
  get total(): number {
    return this.before(this.sizes.length);
  }

  /** Returns the number of keys under all children that come before the given child. */
  before(child: number): number {
    let sum = 0;
    for (let at = 0; at < child; at += 1) sum += this.sizes[at] ?? 0;
    return sum;
  }

  /** Finds the child in whose range a key lies: the last child whose start is equal to or below the key. */
  childOf(key: Uint8Array): number {
    const rank = this.starts.rank(key);
    return rank < this.sizes.length && this.starts.isAt(rank, key) ? rank : Math.max(0, rank - 1);
  }

  insert(start: Buffer, size: number, at: number): void {
    this.starts.add(start);
    this.sizes.splice(at, 0, size);
  }

  remove(child: number): void {
    this.starts.remove(this.starts.key(child));
    this.sizes.splice(child, 1);
  }

  /**
   * Splits the children into several blocks of at most `bytesMax` bytes each. The first new block has the start of this
   * block.
   */
  split(bytesMax: number): readonly InnerBlock[] {
    let at = 0;
    return this.starts.split(bytesMax, SIZE_BYTES).map((starts, chunk) => {
      const sizes = this.sizes.slice(at, (at += starts.size));
      return new InnerBlock(this.level, chunk === 0 ? this.start : starts.key(0), starts, sizes);
    });
  }
}
