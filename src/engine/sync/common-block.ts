/** Finds the highest common block of our chain and a peer's chain. */

import type { ChainReader } from '../../ports/store.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';

/**
 * Number of our newest blocks whose ids are all in the request for the highest common block. Of our older blocks, the
 * request contains only some ids.
 */
const DENSE_BLOCKS = 34;

/**
 * Returns the heights whose block ids the request contains, in ascending order. The list has all of the newest
 * `DENSE_BLOCKS` heights. Below these heights, the distance between neighbouring heights doubles with each step. The
 * lowest height is `floorHeight`, because the node cannot revert the block at `floorHeight` or any block below it.
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
 * Asks the peer for the highest common block, and returns its height. The result is exact if the highest common block
 * is one of our newest `DENSE_BLOCKS` blocks. For an older common block, the result may be too low, because the request
 * names only some of the older blocks. If the result is too low, the node downloads some blocks that it already has.
 * The result is undefined if the peer has none of the blocks that the request names, or answers with a block that the
 * request does not name.
 *
 * @throws ProtocolError from `transport.request`
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
