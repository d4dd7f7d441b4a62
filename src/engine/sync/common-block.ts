/** Finds the block at which our chain and a peer's chain split. */

import type { ChainReader } from '../../ports/store.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';

/**
 * Number of newest blocks whose ids the question contains without gaps. An answer to a later question for blocks has at
 * most the same number of blocks.
 */
const DENSE_BLOCKS = 34;

/**
 * Returns the heights whose block ids the question contains, in ascending order. The newest `DENSE_BLOCKS` heights are
 * all included. Below them, the distance between two heights doubles with each step. `floorHeight` is always included,
 * because the node cannot revert the block at `floorHeight` or any block below.
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
 * below the tip, the result may be lower than the exact height, at most by the distance of the result from the tip. The
 * node then downloads the blocks between the result and the exact height again. The result is undefined if the peer has
 * none of the blocks that the question names.
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
  // The height comes from our own chain, because the peer may state a wrong height.
  return answer === undefined ? undefined : idToHeight.get(answer.id);
}
