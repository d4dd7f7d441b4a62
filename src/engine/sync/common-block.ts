/** Finds the block at which our chain and a peer's chain split. */

import type { ChainReader } from '../../ports/store.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';

/**
 * Number of newest blocks whose ids the question contains without gaps. One answer has the same number of blocks at
 * most. If the result is too low by fewer blocks than this number, one answer brings all missing blocks.
 */
const DENSE_BLOCKS = 34;

/**
 * Heights whose block ids the question contains, in ascending order. The newest heights are all included. For lower
 * heights, the distance between the heights grows. `floorHeight` is always included, because nothing at or below it may
 * change.
 */
function sampleHeights(tipHeight: number, floorHeight: number): readonly number[] {
  const heights: number[] = [];
  let step = 1;
  let height = tipHeight;
  while (height > floorHeight) {
    heights.push(height);
    if (heights.length >= DENSE_BLOCKS) step *= 2;
    height -= step;
  }
  heights.push(floorHeight);
  return heights.reverse();
}

/**
 * Finds the highest height at which the peer is known to have the same block. Near the tip, the result is exact. Far
 * below the tip, the result may be too low. The error is at most the distance of the result from the tip. The blocks
 * between the result and the exact height are then downloaded again. The common height is undefined if the peer has
 * none of our blocks down to `floorHeight`.
 */
export async function findCommonHeight(
  chain: ChainReader,
  peer: { readonly peerId: PeerId; readonly transport: Pick<Transport, 'request'> },
  floorHeight: number,
): Promise<number | undefined> {
  const tipHeight = chain.tip()?.height ?? 0;
  const floor = Math.max(1, Math.min(floorHeight, tipHeight));
  const idToHeight = new Map<string, number>();
  for (const height of sampleHeights(tipHeight, floor)) {
    const header = chain.header(height);
    if (header !== undefined) idToHeight.set(header.id, height);
  }
  const answer = await peer.transport.request(peer.peerId, {
    kind: 'highestCommonBlock',
    blockIds: [...idToHeight.keys()],
  });
  // The height is that of the block in our chain, because the height that the peer states may be wrong.
  return answer === undefined ? undefined : idToHeight.get(answer.id);
}
