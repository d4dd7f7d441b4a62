/**
 * Updates the dashboard's list of the latest blocks, newest first. Blocks come from the event stream and from answers
 * to requests. An answer can be older than an event that arrived before the answer.
 */

import type { Block } from './answers.ts';

const BLOCKS_MAX = 400;

type Link = Pick<Block, 'id' | 'height' | 'previousBlockId'>;

/**
 * Adds the block of an event, and removes each block in the list whose height is the same or higher. A removed block
 * was reverted, or the list got this block from an answer that arrived before the event of the block. In the second
 * case, the event of the removed block arrives later, and adds this block to the list again.
 */
export function withApplied<Kept extends Link>(kept: readonly Kept[], block: Kept): readonly Kept[] {
  return [block, ...kept.filter(({ height }) => height < block.height)].slice(0, BLOCKS_MAX);
}

/**
 * Adds the blocks of an answer, to fill gaps in the list.
 *
 * @param answer the blocks, newest first and without a gap
 */
export function withAnswered<Kept extends Link>(kept: readonly Kept[], answer: readonly Kept[]): readonly Kept[] {
  const [newest] = answer;
  const oldest = answer.at(-1);
  if (newest === undefined || oldest === undefined) return kept;
  const above = kept.filter(({ height }) => height > newest.height);
  const next = above.at(-1);
  // The list `kept` has the blocks to which the function adds the answer. `next` is the lowest block of `kept`
  // above `newest`. If `next` is one height above `newest`, but has another parent, all blocks of `kept` above `newest`
  // belong to another branch. The function drops these blocks.
  const isOther = next?.height === newest.height + 1 && next.previousBlockId !== newest.id;
  const lower = kept.filter(({ height }) => height < oldest.height);
  // If `kept` has no block directly below `oldest` (the lowest block of `answer`), there is a gap in the heights. The
  // function then drops all blocks of `kept` below the gap, because the event stream will not fill the gap.
  const below = lower[0]?.height === oldest.height - 1 ? lower : [];
  return [...(isOther ? [] : above), ...answer, ...below].slice(0, BLOCKS_MAX);
}

/** True if a block is missing in the list, or if a block is not the parent of the block above it. */
export function hasGap(blocks: readonly Link[]): boolean {
  return blocks.some(({ height, id }, index) => {
    const above = blocks[index - 1];
    return above !== undefined && (above.height !== height + 1 || above.previousBlockId !== id);
  });
}
