/** Builds the next block of generation 3. */

import { hexOf } from '../../primitives/bytes.ts';
import { ProtocolError } from '../../primitives/errors.ts';
import { buildBlock, type BuildParts } from '../block/build.ts';
import type { ForgeRequest, SignedHeader } from '../rules.ts';
import { slotAt } from '../slots.ts';
import type { ChainParams } from '../params.ts';
import type { StateReader } from '../state.ts';
import type { Block, BlockHeader } from '../types.ts';
import { contradictionOf, type BftHeader } from './bft.ts';
import { BLOCK_VERSION, type BlockRules } from './blocks.ts';
import { finalityOf } from './bft-state.ts';

/**
 * Builds and signs the block after `tip`. The function signs no block in four cases:
 *
 * - `buildBlock` throws an error, for example because `applyBlock` would refuse the block.
 * - The block contradicts `request.previouslyForged`.
 * - The block has the same slot as `request.previouslyForged`.
 * - Fork choice does not prefer the branch of the block to the branch of `request.previouslyForged` (`branchFault`).
 *
 * @throws ProtocolError `FORGING_CONTRADICTS` in the last three cases; or an error of `buildBlock`
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
  refuseContradiction(request.previouslyForged, { ...placed, timestamp: request.timestamp }, parts.params);
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

/**
 * Compares the branch of the new header with the branch of the last signed header. If fork choice does not prefer the
 * new branch, the function returns the reason why the delegate must not sign on the new branch. If fork choice prefers
 * the new branch, the result is undefined. The function is necessary because `contradictionOf` (LIP-0014) does not know
 * which of two headers the delegate signed first. If the last header and the new header name the same
 * `maxHeightPreviouslyForged`, `contradictionOf` can take the new header for the earlier one, and then accept both
 * headers. However, the delegate can have signed a still earlier header that contradicts the new header, and perhaps
 * the caller no longer knows this earlier header.
 */
function branchFault(previous: SignedHeader, { height, maxHeightPrevoted }: BftHeader): string | undefined {
  const isBetter =
    maxHeightPrevoted > previous.maxHeightPrevoted ||
    (maxHeightPrevoted === previous.maxHeightPrevoted && height > previous.height);
  if (isBetter) return undefined;
  return (
    `the delegate signed block ${previous.height} of a better branch (maxHeightPrevoted ${previous.maxHeightPrevoted} ` +
    `instead of ${maxHeightPrevoted})`
  );
}

function refuseContradiction(
  previous: SignedHeader | undefined,
  header: BftHeader & { readonly timestamp: number },
  params: ChainParams,
): void {
  if (previous === undefined) return;
  // LIP-0014 permits that a delegate signs a second block for the same slot at a greater height. For example, the
  // delegate could do this after a switch to a longer branch whose tip is older than the slot. But peers could apply
  // either of the two blocks, so the node does not sign the second block.
  const slot = slotAt(header.timestamp, params);
  const reason =
    slotAt(previous.timestamp, params) === slot
      ? `the delegate signed a block for slot ${slot} already`
      : (contradictionOf(previous, header) ?? branchFault(previous, header));
  if (reason === undefined) return;
  const data = { height: header.height, generator: header.generatorPublicKey, earlier: previous?.height, reason };
  throw new ProtocolError('FORGING_CONTRADICTS', data);
}
