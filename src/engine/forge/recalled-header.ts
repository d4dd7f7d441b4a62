/** Tells whether the header in a watermark (`SigningJournal.recalled`) belongs to the chain of this node. */

import type { RecalledHeader } from '../../ports/journal.ts';
import type { StateReader } from '../../protocol/state.ts';

const GENESIS_HEIGHT = 1;
const FIRST_FORGED_HEIGHT = 2;

/**
 * True if the chain of this node has the block of the header, or if block 2 of this chain (the first block after the
 * genesis block) has the id `firstBlockId` from the watermark.
 */
export function isOfChain(state: Pick<StateReader, 'header'>, { last, firstBlockId }: RecalledHeader): boolean {
  const first = state.header(FIRST_FORGED_HEIGHT);
  const isFirst = first !== undefined && first.id === firstBlockId;
  return isFirst || (last.height > GENESIS_HEIGHT && state.header(last.height)?.id === last.blockId);
}
