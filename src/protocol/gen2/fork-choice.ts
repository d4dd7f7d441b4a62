/**
 * Implements the fork choice of generation 2. Generation 2 has no finality, and the longer chain wins. If two blocks
 * follow the same parent, the block with the earlier timestamp wins. If the timestamps are equal, the block with the
 * smaller id wins; ids are compared as text. All nodes decide in this way, so the order in which the blocks arrive does
 * not matter. In lisk-sdk, two blocks with the same parent are fork cause 5.
 *
 * A received block can be one height above the tip although the parent of the block is not the tip (fork cause 1 of
 * lisk-sdk). If the timestamp of the received block is earlier than the timestamp of the tip, lisk-sdk reverts two
 * blocks. If the timestamp of the received block is later, lisk-sdk keeps its tip. lisk-sdk then syncs only when it has
 * received no new block for 20 s. In both cases, this node immediately syncs from a peer that has the block. This node
 * reverts blocks of its own chain only after the blocks from the peer have proved that the peer's chain is better.
 *
 * If two chains of equal length differ in more than their tips, each lisk-sdk node stays on its own chain. The
 * consensus of a node is the share of the node's peers that have the same tip as the node. If each of the two chains
 * has half of the nodes, the consensus could stay too low for forging. This node compares the tips of two chains of
 * equal length as if the tips had the same parent.
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

/**
 * True if the tip `announced` is higher than the tip `than`. The tip `than` is the tip of this node, or a tip that a
 * peer has announced.
 */
export function isLonger(announced: AnnouncedTip, than: AnnouncedTip): boolean {
  return announced.height > than.height;
}

/**
 * True if fork choice prefers `block` to `rival`, which is a different block at the same height. Ids are compared as
 * text, not as numbers.
 */
function isPreferred(block: BlockHeader, rival: BlockHeader): boolean {
  return block.timestamp === rival.timestamp ? block.id < rival.id : block.timestamp < rival.timestamp;
}
