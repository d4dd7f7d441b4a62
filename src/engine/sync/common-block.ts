/** Finds the block at which our chain and a peer's chain part. */

import type { ChainReader } from '../../ports/store.ts';
import type { PeerId, Transport } from '../../ports/transport.ts';

/** Own blocks named one by one from the tip down: as many as come in one answer anyway when the depth is overestimated. */
const DENSE_BLOCKS = 34;

/**
 * Heights to ask about: each of the newest, then ever fewer, down to `floorHeight`, which is always among them: nothing at or
 * below it may change. Ascending.
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
 * Highest height known to be common with the peer: exact near the tip, possibly lower than the true one further down, by no
 * more than its distance from the tip. The blocks between are then fetched again. Undefined when the peer has none of our
 * blocks down to `floorHeight`.
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
  // The height is ours, not the peer's word for it.
  return answer === undefined ? undefined : idToHeight.get(answer.id);
}
