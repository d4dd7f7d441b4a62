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

/** The highest common block that a peer named, as a height in our chain. */
export interface CommonBlock {
  readonly height: number;
  /**
   * The lowest height above `height` for which the request contained the id of our block. The peer stated that its
   * chain does not contain our block at `nextHeight`, because the peer named a lower block. Undefined if the block at
   * `height` is our tip.
   */
  readonly nextHeight: number | undefined;
}

/**
 * Asks the peer for the highest common block. The result is exact if the highest common block is one of our newest
 * `DENSE_BLOCKS` blocks. For an older common block, the height of the result can be too low, because the request names
 * only some of the older blocks. The node then downloads blocks that our chain already contains: the blocks above the
 * height of the result, up to the highest common block. If the peer is honest, all these repeated blocks are below
 * `CommonBlock.nextHeight` (the next higher height whose block the request names). If `d` blocks of our chain are above
 * the highest common block, and `d` is at least `DENSE_BLOCKS`, an honest peer sends at most `d - DENSE_BLOCKS + 1`
 * repeated blocks. As long as no block is final, the node can revert at most 1,010 blocks. Neighbouring heights in the
 * request then differ by at most 467, so an honest peer sends at most 466 repeated blocks. In generation 2, no block is
 * ever final. The result is undefined if the peer has none of the blocks that the request names, or answers with a
 * block that the request does not name.
 *
 * @throws ProtocolError from `transport.request`
 */
export async function findCommonBlock(
  chain: ChainReader,
  peer: { readonly peerId: PeerId; readonly transport: Pick<Transport, 'request'> },
  floorHeight: number,
): Promise<CommonBlock | undefined> {
  const tipHeight = chain.tip()?.height ?? 0;
  const floor = Math.max(1, Math.min(floorHeight, tipHeight));
  const named: { readonly id: string; readonly height: number }[] = [];
  for (const height of sampleHeights(tipHeight, floor)) {
    const header = chain.header(height);
    if (header !== undefined) named.push({ id: header.id, height });
  }
  const answer = await peer.transport.request(peer.peerId, {
    kind: 'highestCommonBlock',
    blockIds: named.map(({ id }) => id),
  });
  const at = named.findIndex(({ id }) => id === answer?.id);
  const common = named[at];
  // The height comes from our own chain, because the peer can state a wrong height.
  return common && { height: common.height, nextHeight: named[at + 1]?.height };
}
