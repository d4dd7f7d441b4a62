/**
 * The latest blocks as the dashboard keeps them, newest first. They come two ways, told by the stream and asked for, and an
 * answer may be older than what the stream told while it was on its way.
 */

import type { Block } from './answers.ts';

const BLOCKS_MAX = 400;

type Link = Pick<Block, 'id' | 'height' | 'previousBlockId'>;

/** With a block that the stream told of: what was at its height or above is gone. */
export function withApplied<Kept extends Link>(kept: readonly Kept[], block: Kept): readonly Kept[] {
  return [block, ...kept.filter(({ height }) => height < block.height)].slice(0, BLOCKS_MAX);
}

/**
 * With blocks that were asked for, which fill what is missing.
 *
 * @param answer newest first and without a gap
 */
export function withAnswered<Kept extends Link>(kept: readonly Kept[], answer: readonly Kept[]): readonly Kept[] {
  const [newest] = answer;
  const oldest = answer.at(-1);
  if (newest === undefined || oldest === undefined) return kept;
  const above = kept.filter(({ height }) => height > newest.height);
  const next = above.at(-1);
  // They belong to a branch that was left before the answer was given.
  const isOther = next?.height === newest.height + 1 && next.previousBlockId !== newest.id;
  const lower = kept.filter(({ height }) => height < oldest.height);
  // Nobody will tell of what lies between an old list and an answer from much later.
  const below = lower[0]?.height === oldest.height - 1 ? lower : [];
  return [...(isOther ? [] : above), ...answer, ...below].slice(0, BLOCKS_MAX);
}

/** Whether a block is missing between others, or is not the one that the next stands on. */
export function hasGap(blocks: readonly Link[]): boolean {
  return blocks.some(({ height, id }, index) => {
    const above = blocks[index - 1];
    return above !== undefined && (above.height !== height + 1 || above.previousBlockId !== id);
  });
}
