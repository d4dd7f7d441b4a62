/** Implements the fork choice rule of LIP-0014. */

import type { ChainParams } from '../params.ts';
import type { AnnouncedTip, TipView } from '../rules.ts';
import { slotAt } from '../slots.ts';
import type { BlockHeader } from '../types.ts';
import type { ForkStatus } from '../verdict.ts';

type Timing = Pick<ChainParams, 'blockTimeS'>;

/**
 * Returns the relation of a received block to the tip. The function checks one case after another, and returns the
 * first case that matches. The order of the checks is therefore important.
 */
export function forkStatus(tip: TipView, received: TipView, params: Timing): ForkStatus {
  if (extendsTip(tip.header, received.header)) return 'extends';
  if (tip.header.id === received.header.id) return 'same';
  if (isDoubleForging(tip.header, received.header)) return 'doubleForging';
  if (isTieBreak(tip, received, params)) return 'tieBreak';
  if (isBetterChain(tip.header, received.header)) return 'betterChain';
  return 'discard';
}

function extendsTip(tip: BlockHeader, received: BlockHeader): boolean {
  return tip.height + 1 === received.height && tip.id === received.previousBlockId;
}

/** True if a block has the same height, parent and `maxHeightPrevoted` as the tip. */
function isDuplicate(tip: BlockHeader, received: BlockHeader): boolean {
  return (
    tip.height === received.height &&
    tip.maxHeightPrevoted === received.maxHeightPrevoted &&
    tip.previousBlockId === received.previousBlockId
  );
}

function isDoubleForging(tip: BlockHeader, received: BlockHeader): boolean {
  return isDuplicate(tip, received) && tip.generatorPublicKey === received.generatorPublicKey;
}

/**
 * True if a rival block (`isDuplicate`) replaces the tip. All three conditions must hold:
 *
 * - The slot of the rival is later than the slot of the tip.
 * - The node received the rival in the rival's slot.
 * - The node did not receive the tip in the tip's slot.
 */
function isTieBreak(tip: TipView, received: TipView, params: Timing): boolean {
  return (
    isDuplicate(tip.header, received.header) &&
    slotAt(tip.header.timestamp, params) < slotAt(received.header.timestamp, params) &&
    !wasReceivedInSlot(tip, params) &&
    wasReceivedInSlot(received, params)
  );
}

/**
 * True if the chain that ends with `received` is better than the chain that ends with `tip`. Each argument can be a tip
 * that a peer has announced without sending the block.
 */
export function isBetterChain(tip: AnnouncedTip, received: AnnouncedTip): boolean {
  return (
    tip.maxHeightPrevoted < received.maxHeightPrevoted ||
    (tip.maxHeightPrevoted === received.maxHeightPrevoted && tip.height < received.height)
  );
}

/**
 * True if this node received a block during the slot of the block. A block without `receivedAtS`, such as a block that
 * this node forged, counts as received in its slot.
 */
function wasReceivedInSlot(view: TipView, params: Timing): boolean {
  return view.receivedAtS === undefined || slotAt(view.receivedAtS, params) === slotAt(view.header.timestamp, params);
}
