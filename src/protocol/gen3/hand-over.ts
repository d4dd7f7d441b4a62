/**
 * Going on with a delegate whose earlier headers are not known here (LIP-0014). Once a block from after the last
 * of them is final, the unknown ones can only stand on branches that this chain has left behind, and no such branch can be
 * higher than this one plus the slots that it missed. A header that names that height contradicts none of them.
 */

import type { ChainParams } from '../params.ts';
import type { HandOver, HandOverRequest, SignedHeader } from '../rules.ts';
import type { StateReader } from '../state.ts';
import type { BlockHeader } from '../types.ts';
import { bftLimits, type BftLimits } from './bft.ts';
import { finalityOf } from './ledger.ts';

/** How far back branches are thought of, as the LIP has it. */
const MONTH_S = 30 * 86_400;
/** Finality that is so many times as far behind as it can be stands still: no moment can be told for it. */
const STANDING_TIMES = 2;
/** Block 1 is dated to the epoch, however late the network began, so missed slots are counted from the first forged block. */
const FIRST_FORGED_HEIGHT = 2;

/** @param tip the block that the state follows from */
export function handOver(
  state: StateReader,
  tip: BlockHeader,
  { publicKey, sinceS, last, nowS }: HandOverRequest,
  params: Pick<ChainParams, 'blockTimeS' | 'activeDelegates'>,
): HandOver {
  const limits = bftLimits(params.activeDelegates);
  const { finalized: finalizedHeight, maxPrevoted } = finalityOf(state);
  const finalized = state.header(finalizedHeight);
  const finalizedS = finalized?.timestamp ?? 0;
  const isYoung = finalizedHeight < FIRST_FORGED_HEIGHT;
  // As long as finality keeps its distance. A young chain has none yet: its first block is dated to the epoch.
  const distanceS = isYoung ? finalityBlocks(limits) * params.blockTimeS : tip.timestamp - finalizedS;
  const dueS = sinceS + distanceS;
  const isFinal = finalized !== undefined && !isYoung && finalizedS > sinceS;
  const own = ownHeaders(state, tip, publicKey, limits);
  const bound = isFinal
    ? finalizedHeight + missedSlots(state, finalized, params)
    : isYoung
      ? boundOfYoungChain(state, tip, { sinceS, dueS, isNew: own.length === 0 }, params)
      : undefined;
  if (bound === undefined && !isYoung && distanceS > STANDING_TIMES * finalityBlocks(limits) * params.blockTimeS) {
    const minutes = Math.floor(distanceS / 60);
    const reason =
      `the chain has made nothing final for ${minutes} minutes, and the delegate waits for that; where a third of all delegates ` +
      'wait it never comes, and only their signing records end the wait';
    return { ready: false, reason };
  }
  if (bound === undefined) {
    const untilS = Math.max(dueS, tip.timestamp) + params.blockTimeS;
    if (nowS > untilS) {
      const reason =
        'no block is final yet that is newer than what the delegate may have signed, and none has come since height ' +
        `${tip.height}; where a third of all delegates wait, finality never comes: import their signing records, or waive this ` +
        'with --risk-double-forging';
      return { ready: false, reason };
    }
    return {
      ready: false,
      reason: 'no block is final yet that is newer than what the delegate may have signed',
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
  const named = Math.max(bound, ...heights);
  return { ready: true, previouslyForged: named === 0 ? undefined : naming(named, isFinal ? finalizedS : sinceS) };
}

/**
 * The height that no unknown header can lie above, on a chain of which nothing but the genesis block is final. Finality may
 * never come while delegates wait for it, so they do not wait for ever: a third of them is enough to hold it up.
 *
 * @param wait.dueS when finality should have come
 * @param wait.isNew whether the chain has no block of the delegate
 * @returns 0 where there can be no unknown header; undefined while finality may still come
 */
function boundOfYoungChain(
  state: StateReader,
  tip: BlockHeader,
  { sinceS, dueS, isNew }: { readonly sinceS: number; readonly dueS: number; readonly isNew: boolean },
  { blockTimeS }: Pick<ChainParams, 'blockTimeS'>,
): number | undefined {
  const first = state.header(FIRST_FORGED_HEIGHT);
  // The delegate was held here before anybody forged.
  if (first === undefined || (isNew && first.timestamp + blockTimeS > sinceS)) return 0;
  if (tip.timestamp < dueS) return undefined;
  // Had each slot since the first block been used, on whatever branch.
  return FIRST_FORGED_HEIGHT + Math.ceil((tip.timestamp - first.timestamp) / blockTimeS);
}

/** Slots that no block of the chain filled in the month before a block. */
function missedSlots(state: StateReader, block: BlockHeader, { blockTimeS }: Pick<ChainParams, 'blockTimeS'>): number {
  const first = state.header(Math.max(FIRST_FORGED_HEIGHT, block.height - Math.floor(MONTH_S / blockTimeS)));
  if (first === undefined || first.height >= block.height) return 0;
  return Math.max(0, Math.ceil((block.timestamp - first.timestamp) / blockTimeS) - (block.height - first.height));
}

/** By which a tip is ahead of what is final when all delegates take part: a prevote and a precommit of two thirds. */
function finalityBlocks({ threshold }: BftLimits): number {
  return 2 * threshold;
}

/** Headers in which a contradiction on the chain itself is looked for. */
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

/** Stands for all unknown headers: it has no height of its own, but names the highest that any of them can have. */
function naming(height: number, timestamp: number): SignedHeader {
  return { blockId: '', height: 0, timestamp, maxHeightPrevoted: 0, maxHeightPreviouslyForged: height };
}
