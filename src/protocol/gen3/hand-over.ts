/**
 * Decides when a delegate is allowed to sign again although this node does not know all earlier headers of the delegate
 * (LIP-0014). In this file, an unknown header is an earlier header of the delegate that this node does not know. The
 * node waits until a block that is newer than all unknown headers is final. After this wait, each unknown header is
 * either on the chain of this node or on an abandoned branch. The height of an unknown header on an abandoned branch
 * has a maximum: the height of the final block, plus the number of slots that the chain of this node missed before the
 * final block. A new header that names this maximum height as `maxHeightPreviouslyForged` contradicts none of the
 * unknown headers. On a chain whose only final block is the genesis block, the wait is limited (`boundOfYoungChain`).
 * If no unknown header can be on a branch above the final block (`isWaitNeedless`), the node does not wait. In this
 * case, all unknown headers are on branches that left the chain below the final block. The height of these headers has
 * a maximum, too, because such a branch can have grown by only one block in each slot up to the time `sinceS` (see
 * `HandOverRequest`).
 */

import { durationText } from '../../primitives/duration.ts';
import type { ChainParams } from '../params.ts';
import type { HandOver, HandOverRequest, SignedHeader } from '../rules.ts';
import { slotAt } from '../slots.ts';
import type { StateReader } from '../state.ts';
import type { BlockHeader } from '../types.ts';
import { bftLimits, type BftLimits } from './bft.ts';
import { finalityOf } from './bft-state.ts';

/**
 * 30 days in seconds. As in LIP-0014, the node assumes that the delegate has no header on a branch that left the chain
 * more than 30 days before the last final block.
 */
const MONTH_S = 30 * 86_400;
/**
 * Limit for the time between the last final block and the tip, as a multiple of the usual time (`finalityBlocks`
 * slots). In some cases, a delegate must wait for a newer final block before the delegate signs again. Above the limit,
 * the node assumes that blocks no longer become final. In this case, the node states no time at which the delegate's
 * wait ends (`untilS`).
 */
const STANDING_TIMES = 2;
/**
 * Height of the first block that a delegate forged. This block follows the genesis block. The genesis block (block 1)
 * has the time of the epoch, even if the network began much later. The node therefore counts missed slots only from
 * block 2 on.
 */
const FIRST_FORGED_HEIGHT = 2;

/** @param tip the tip of the chain to which the state belongs */
export function handOver(
  state: StateReader,
  tip: BlockHeader,
  { publicKey, sinceS, last, nowS, isWaitNeedless, hasMadeAllBlocks, coveredUntilS }: HandOverRequest,
  params: Pick<ChainParams, 'blockTimeS' | 'activeDelegates'>,
): HandOver {
  const limits = bftLimits(params.activeDelegates);
  const { finalized: finalizedHeight, maxPrevoted } = finalityOf(state);
  const finalized = state.header(finalizedHeight);
  const finalizedS = finalized?.timestamp ?? 0;
  const isYoung = finalizedHeight < FIRST_FORGED_HEIGHT;
  // The distance in seconds between the tip and the last final block. On a young chain (only its genesis block is
  // final), the node cannot measure this distance, because the genesis block has the time of the epoch. In this case,
  // the node uses the distance that is usual on an older chain.
  const distanceS = isYoung ? finalityBlocks(limits) * params.blockTimeS : tip.timestamp - finalizedS;
  const dueS = sinceS + distanceS;
  const isFinal = finalized !== undefined && !isYoung && finalizedS > sinceS;
  const own = ownHeaders(state, tip, publicKey, limits);
  const bound = isFinal
    ? finalizedHeight + missedSlots(state, finalized, params)
    : isYoung
      ? boundOfYoungChain(
          state,
          tip,
          { sinceS, dueS, isNew: own.length === 0, isWaitNeedless, hasMadeAllBlocks },
          params,
        )
      : isWaitNeedless && finalized !== undefined
        ? finalizedHeight + missedSlots(state, finalized, params) + slotsUntil(sinceS, finalized, params)
        : undefined;
  if (bound === undefined && !isYoung && distanceS > STANDING_TIMES * finalityBlocks(limits) * params.blockTimeS) {
    const reason =
      `no block became final for ${durationText(distanceS)}, and the delegate waits for a final block; if a third of all delegates ` +
      'wait, no block becomes final: import their signing records, or skip the wait with --risk-double-forging';
    return { ready: false, reason };
  }
  if (bound === undefined) {
    const untilS = Math.max(dueS, tip.timestamp) + params.blockTimeS;
    if (nowS > untilS) {
      const reason =
        'no final block is newer than the possible signatures of the delegate, and no block has arrived since height ' +
        `${tip.height}; if a third of all delegates wait, no block becomes final: import their signing records, or skip the ` +
        'wait with --risk-double-forging';
      return { ready: false, reason };
    }
    return {
      ready: false,
      reason: 'no final block is newer than the possible signatures of the delegate',
      untilS,
    };
  }
  const isBehind =
    last !== undefined &&
    (maxPrevoted < last.maxHeightPrevoted || (maxPrevoted === last.maxHeightPrevoted && tip.height + 1 <= last.height));
  if (isBehind) {
    const reason = `the chain has not reached the block of height ${last.height} that the delegate signed`;
    return { ready: false, reason, untilS: tip.timestamp + params.blockTimeS };
  }
  const known = [...own, ...(last === undefined ? [] : [last])];
  const heights = known.flatMap((header) => [header.height, header.maxHeightPreviouslyForged]);
  const covered = isYoung
    ? heightUntil(state, coveredUntilS, params)
    : finalized !== undefined && coveredUntilS > finalizedS
      ? finalizedHeight +
        missedSlots(state, finalized, params) +
        Math.ceil((coveredUntilS - finalizedS) / params.blockTimeS)
      : 0;
  const named = Math.max(bound, covered, ...heights);
  const timestamp = Math.max(isFinal ? finalizedS : sinceS, last?.timestamp ?? 0);
  return { ready: true, previouslyForged: named === 0 ? undefined : naming(named, timestamp) };
}

/**
 * Returns the maximum height of the headers that another node possibly signed for the delegate on a young chain. A
 * young chain is a chain whose only final block is the genesis block. If a third of the delegates of a young chain
 * waited for finality, no block would ever become final. The wait on a young chain is therefore limited.
 *
 * @param wait.dueS chain time at which a block with the time `sinceS` (see `HandOverRequest`) should be final
 * @param wait.isNew true if the delegate forged none of the last `range` blocks (`ownHeaders`)
 * @param wait.isWaitNeedless true if the delegate need not wait until `dueS`
 * @param wait.hasMadeAllBlocks true if this node made all blocks of the chain
 * @returns the height; 0 if no other node can have signed for the delegate; undefined if the delegate must still wait
 */
function boundOfYoungChain(
  state: StateReader,
  tip: BlockHeader,
  {
    sinceS,
    dueS,
    isNew,
    isWaitNeedless,
    hasMadeAllBlocks,
  }: {
    readonly sinceS: number;
    readonly dueS: number;
    readonly isNew: boolean;
    readonly isWaitNeedless: boolean;
    readonly hasMadeAllBlocks: boolean;
  },
  params: Pick<ChainParams, 'blockTimeS'>,
): number | undefined {
  const first = state.header(FIRST_FORGED_HEIGHT);
  // If the chain has only the genesis block, the node assumes that no other node has signed a header for the delegate.
  if (first === undefined) return 0;
  const reachable = FIRST_FORGED_HEIGHT + slotsUntil(sinceS, first, params);
  // The delegate need not wait if two conditions hold: `isNew` is true, and the time `sinceS` is before the end of the
  // slot of the first forged block. Another node possibly signed headers for the delegate before `sinceS`. The clock of
  // the other node was possibly ahead, so its last signature can be in the slot directly after the slot of `sinceS`. If
  // even this slot is before the slot of the first forged block, the node assumes that the other node has signed
  // nothing, and the result is 0. Otherwise, the result is `reachable`.
  if (isNew && first.timestamp + params.blockTimeS > sinceS)
    return slotAt(sinceS, params) + 1 < slotAt(first.timestamp, params) ? 0 : reachable;
  // If this node made all blocks, the result is never above the height of the tip. The height `reachable` counts one
  // block for each slot, even for slots in which this node was paused. If a new header stated `reachable` as its
  // `maxHeightPreviouslyForged` after a pause, finality would be delayed by as many blocks as the pause has slots.
  if (hasMadeAllBlocks) return Math.min(reachable, tip.height);
  if (isWaitNeedless) return reachable;
  if (tip.timestamp < dueS) return undefined;
  // The time of the tip is `dueS` or later, so a block with the time `sinceS` should be final, and the delegate need
  // not wait any longer. The result is the height that a branch can reach until the time `dueS`, if the branch has a
  // block in each slot from the first forged block on. Another node possibly signed headers for the delegate before
  // `sinceS`. The additional time from `sinceS` to `dueS` is necessary because the clock of this other node was
  // possibly ahead. The result does not depend on the height of the tip. Otherwise, delegates that sign later would
  // state ever greater heights as `maxHeightPreviouslyForged`, and no block below these heights would become final.
  return FIRST_FORGED_HEIGHT + Math.max(0, Math.ceil((dueS - first.timestamp) / params.blockTimeS));
}

/**
 * Counts the slots after `block` in which another node possibly signed for the delegate. The first counted slot is the
 * slot directly after the slot of `block`. Other nodes signed for the delegate only before the time `sinceS` (see
 * `HandOverRequest`). However, the clock of the other node was possibly ahead, so the last counted slot is the slot
 * directly after the slot of `sinceS`.
 */
function slotsUntil(sinceS: number, block: BlockHeader, params: Pick<ChainParams, 'blockTimeS'>): number {
  return Math.max(0, slotAt(sinceS, params) + 1 - slotAt(block.timestamp, params));
}

/**
 * The height that a branch can reach until the time `untilS`, if the branch has a block in each slot from the first
 * forged block on.
 */
function heightUntil(state: StateReader, untilS: number, params: Pick<ChainParams, 'blockTimeS'>): number {
  const first = state.header(FIRST_FORGED_HEIGHT);
  if (first === undefined || untilS <= first.timestamp) return 0;
  return FIRST_FORGED_HEIGHT + Math.ceil((untilS - first.timestamp) / params.blockTimeS);
}

/**
 * Number of missed slots before `block`. The function examines only the last blocks before `block`: at most as many
 * blocks as there are slots in the time `MONTH_S`.
 */
function missedSlots(state: StateReader, block: BlockHeader, { blockTimeS }: Pick<ChainParams, 'blockTimeS'>): number {
  const first = state.header(Math.max(FIRST_FORGED_HEIGHT, block.height - Math.floor(MONTH_S / blockTimeS)));
  if (first === undefined || first.height >= block.height) return 0;
  return Math.max(0, Math.ceil((block.timestamp - first.timestamp) / blockTimeS) - (block.height - first.height));
}

/**
 * Distance in blocks between the tip and the last final block if all delegates take part. The distance is the sum of
 * two thirds of a round for prevotes and two thirds of a round for precommits.
 */
function finalityBlocks({ threshold }: BftLimits): number {
  return 2 * threshold;
}

/**
 * The delegate's headers among the last `range` headers of the chain. Nodes do not compare a new header with headers
 * before the last `range` headers.
 */
function ownHeaders(
  state: StateReader,
  tip: BlockHeader,
  publicKey: string,
  { range }: BftLimits,
): readonly BlockHeader[] {
  const found: BlockHeader[] = [];
  for (let height = tip.height; height > Math.max(1, tip.height - range); height -= 1) {
    const header = state.header(height);
    if (header?.generatorPublicKey === publicKey) found.push(header);
  }
  return found;
}

/**
 * Creates a header that stands for all earlier headers of the delegate, including headers that another node possibly
 * signed for the delegate. The created header has the height 0. Its `maxHeightPreviouslyForged` is the argument
 * `height`: an upper limit for the members `height` and `maxHeightPreviouslyForged` of all these earlier headers.
 */
function naming(height: number, timestamp: number): SignedHeader {
  return { blockId: '', height: 0, timestamp, maxHeightPrevoted: 0, maxHeightPreviouslyForged: height };
}
