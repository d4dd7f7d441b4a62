/** Builds the inner blocks of an order-statistic tree over existing leaf blocks in one pass, from the bottom up. */

import { InnerBlock } from './inner-block.ts';
import { KeyBlock } from './key-block.ts';
import type { BlockSizes } from './order-statistic-tree.ts';

/** The start and the number of keys of a leaf block. */
export interface CountedLeaf {
  /**
   * The start of the first leaf block of a table is the number of the table. The start of any other leaf block is the
   * key that was the first key of the block when the block was created. The start stays the same even if this key is
   * removed later. Each key begins with the number of its table.
   */
  readonly start: Buffer;
  /** Number of keys in the leaf block. */
  readonly size: number;
}

/**
 * @param table number of the table; each key of the table begins with this number
 * @param leaves all leaf blocks of the table, in ascending order
 * @returns the inner blocks of all levels, from the level above the leaf blocks up to the root; empty if there are no
 *   leaf blocks
 */
export function buildTree(
  table: number,
  leaves: readonly CountedLeaf[],
  { innerBytesCut }: Pick<BlockSizes, 'innerBytesCut'>,
): readonly InnerBlock[] {
  if (leaves.length === 0) return [];
  const first = Buffer.from([table]);
  // The tree begins with the first leaf block of the table. If this block has no keys, the block is not on the disk,
  // but is still part of the tree.
  const hasFirst = leaves[0]?.start.equals(first) === true;
  const children: readonly CountedLeaf[] = hasFirst ? leaves : [{ start: first, size: 0 }, ...leaves];
  const blocks: InnerBlock[] = [];
  for (let [level, below] = [1, children]; ; level += 1) {
    const starts = KeyBlock.from(below.map(({ start }) => start));
    const sizes = below.map(({ size }) => size);
    const chunks = new InnerBlock(level, first, starts, sizes).split(innerBytesCut);
    blocks.push(...chunks);
    if (chunks.length === 1) return blocks;
    below = chunks.map(({ start, total }) => ({ start, size: total }));
  }
}
