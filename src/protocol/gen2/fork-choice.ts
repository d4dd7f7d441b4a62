/**
 * Fork choice of generation 2. There is no finality: the longer chain wins. Between two blocks in one place the earlier
 * timestamp wins, and of equal ones the smaller id as text; every node decides so, whichever came first (fork cause 5).
 *
 * A block one above the tip that does not follow it (fork cause 1) makes the reference drop two blocks when the block is
 * older than the tip, and otherwise wait until it finds by polling that it is behind. Both end in following the longer
 * chain; here that begins at once, and nothing is dropped before the other chain is there.
 *
 * Of two chains of one length that parted further down the reference keeps whichever it has, so that two halves of a network
 * that wait for each other's consent wait for ever. Here their tips are compared as rivals in one place are.
 */

import type { AnnouncedTip, TipView } from '../rules.ts';
import type { BlockHeader } from '../types.ts';
import type { ForkStatus } from '../verdict.ts';

export function forkStatus({ header: tip }: TipView, { header: received }: TipView): ForkStatus {
  if (received.id === tip.id) return 'same';
  if (received.height === tip.height + 1 && received.previousBlockId === tip.id) return 'extends';
  if (received.height > tip.height) return 'betterChain';
  // The genesis block has no rivals.
  if (received.height < tip.height || tip.previousBlockId === undefined) return 'discard';
  const isSibling = received.previousBlockId === tip.previousBlockId;
  if (isPreferred(received, tip)) return isSibling ? 'tieBreak' : 'betterChain';
  if (!isSibling) return 'discard';
  return received.generatorPublicKey === tip.generatorPublicKey ? 'doubleForging' : 'discard';
}

/** Whether a tip that a peer announces beats another. */
export function isLonger(announced: AnnouncedTip, than: AnnouncedTip): boolean {
  return announced.height > than.height;
}

/** Ids are compared as text, not as numbers. */
function isPreferred(block: BlockHeader, rival: BlockHeader): boolean {
  return block.timestamp === rival.timestamp ? block.id < rival.id : block.timestamp < rival.timestamp;
}
