/** The cases of LIP-0014's fork choice rule, one predicate each. */

import type { ChainParams } from '../params.ts';
import type { AnnouncedTip, TipView } from '../rules.ts';
import { slotAt } from '../slots.ts';
import type { BlockHeader } from '../types.ts';
import type { ForkStatus } from '../verdict.ts';

type Timing = Pick<ChainParams, 'blockTimeS'>;

/** What a received block is to the tip; the first case that holds decides. */
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

/** A rival of the tip: another block at its place. */
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

/** A rival that came in its own slot beats a tip of an earlier slot that came late. */
function isTieBreak(tip: TipView, received: TipView, params: Timing): boolean {
  return (
    isDuplicate(tip.header, received.header) &&
    slotAt(tip.header.timestamp, params) < slotAt(received.header.timestamp, params) &&
    !wasReceivedInSlot(tip, params) &&
    wasReceivedInSlot(received, params)
  );
}

/** Also decides between tips that peers merely announce. */
export function isBetterChain(tip: AnnouncedTip, received: AnnouncedTip): boolean {
  return (
    tip.maxHeightPrevoted < received.maxHeightPrevoted ||
    (tip.maxHeightPrevoted === received.maxHeightPrevoted && tip.height < received.height)
  );
}

/** Blocks that were forged, synchronised or loaded have no time of receipt and count as in time. */
function wasReceivedInSlot(view: TipView, params: Timing): boolean {
  return view.receivedAtS === undefined || slotAt(view.receivedAtS, params) === slotAt(view.header.timestamp, params);
}
