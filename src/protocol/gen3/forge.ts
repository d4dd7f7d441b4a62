/** Builds the next block of generation 3. */

import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { buildBlock, type BuildParts } from '../block/build.ts';
import type { ForgeRequest, SignedHeader } from '../rules.ts';
import type { StateReader } from '../state.ts';
import type { Block, BlockHeader } from '../types.ts';
import { contradictionOf, type BftHeader } from './bft.ts';
import { BLOCK_VERSION, type BlockRules } from './blocks.ts';
import { finalityOf } from './bft-state.ts';

/**
 * Builds and signs the block after `tip`. The function never signs a block that `applyBlock` would refuse, and never a
 * block that contradicts `request.previouslyForged`.
 *
 * @throws ProtocolError `FORGING_CONTRADICTS` if the header would contradict `request.previouslyForged`; or an error of
 *   `buildBlock`
 */
export function forgeBlock(
  state: StateReader,
  tip: BlockHeader,
  request: ForgeRequest,
  parts: BuildParts & Pick<BlockRules, 'rewardOwed'>,
): Block {
  const placed = {
    version: BLOCK_VERSION,
    height: tip.height + 1,
    generatorPublicKey: hexOf(request.keyPair.publicKey),
    maxHeightPreviouslyForged: highestForged(request.previouslyForged),
    maxHeightPrevoted: finalityOf(state).maxPrevoted,
  };
  refuseContradiction(request.previouslyForged, placed);
  return buildBlock(state, tip, request, { ...placed, reward: parts.rewardOwed(state, placed) }, parts);
}

/**
 * The larger of two heights: the height of the delegate's last signed header, and the height that this header names as
 * `maxHeightPreviouslyForged`. The result is 0 if the delegate has signed no header. If the delegate moved to a shorter
 * branch, the height that the last header names can be the larger one. A new header must have the larger height as its
 * `maxHeightPreviouslyForged`. With a lower value, the new header can contradict the last signed header.
 */
function highestForged(previous: SignedHeader | undefined): number {
  return previous === undefined ? 0 : Math.max(previous.height, previous.maxHeightPreviouslyForged);
}

function refuseContradiction(previous: SignedHeader | undefined, header: BftHeader): void {
  const reason = previous === undefined ? undefined : contradictionOf(previous, header);
  if (reason === undefined) return;
  const data = { height: header.height, generator: header.generatorPublicKey, earlier: previous?.height, reason };
  throw new ProtocolError('FORGING_CONTRADICTS', data);
}
