/** Builds the next block of generation 2. */

import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { buildBlock, type BuildParts } from '../block/build.ts';
import { rewardAt } from '../rewards.ts';
import type { ForgeRequest, SignedHeader } from '../rules.ts';
import { slotAt } from '../slots.ts';
import type { StateReader } from '../state.ts';
import type { Block, BlockHeader } from '../types.ts';
import { BLOCK_VERSION } from './block-json.ts';

/**
 * Builds and signs the block after `tip`.
 *
 * @throws ProtocolError `FORGING_CONTRADICTS` if the last header that the delegate signed (`request.previouslyForged`)
 *   has the slot of the new block, a later slot, or the height of the new block; or an error of `buildBlock`
 */
export function forgeBlock(state: StateReader, tip: BlockHeader, request: ForgeRequest, parts: BuildParts): Block {
  const { params } = parts;
  const height = tip.height + 1;
  const previous = request.previouslyForged;
  const reason = previous && contradictionWith(previous, { height, timestamp: request.timestamp }, params);
  if (reason !== undefined) {
    throw new ProtocolError('FORGING_CONTRADICTS', { height, earlier: previous?.height, reason });
  }
  const placed = {
    version: BLOCK_VERSION,
    generatorPublicKey: hexOf(request.keyPair.publicKey),
    maxHeightPreviouslyForged: 0,
    maxHeightPrevoted: 0,
    reward: rewardAt(height, params.rewards),
  };
  return buildBlock(state, tip, request, placed, parts);
}

type Signed = Pick<SignedHeader, 'height' | 'timestamp'>;

/**
 * The reason why a delegate that signed the header `last` must not sign `next`; undefined if the delegate is allowed to
 * sign `next`. Generation 2 does not punish contradictions. But a delegate that signs two blocks for one slot or height
 * splits the network. The function knows only the last header that the delegate signed. The function therefore refuses
 * each slot before the slot of `last`, as if the delegate had signed a block for this slot, too.
 */
export function contradictionWith(last: Signed, next: Signed, params: BuildParts['params']): string | undefined {
  if (slotAt(next.timestamp, params) <= slotAt(last.timestamp, params)) {
    return `the delegate signed a block for slot ${slotAt(last.timestamp, params)} already`;
  }
  return next.height === last.height ? `the delegate signed another block at height ${last.height} already` : undefined;
}
