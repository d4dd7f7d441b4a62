/** How many peers stand where this node stands: what forging may depend on. */

import type { PeerInfo } from '../../ports/transport.ts';

/** As many as the reference asks. */
const COUNTED_PEERS_MAX = 100;

export interface OwnTip {
  readonly id: string;
  readonly height: number;
  readonly broadhash: string;
}

/**
 * Whether a peer has said where it is.
 *
 * Release 2.3.8 announces the genesis block's height and broadhash from its start until gossip brings it a block, however far
 * it has synchronised meanwhile. Such a peer has not said where it is: were it counted against us, half of a network that has
 * just started would keep the other half from ever forging the block that ends its silence.
 *
 * @param isYoung whether our chain has no block but the genesis block
 */
export function speaks({ height, broadhash }: PeerInfo, isYoung: boolean, nethash: string): boolean {
  return isYoung || height !== 1 || broadhash !== nethash;
}

/**
 * Percent of peers whose announced tip is ours, two significant digits; 0 when none has announced any. The first hundred
 * count.
 */
export function consentPercent(peers: readonly PeerInfo[], tip: OwnTip, nethash: string): number {
  const speaking = peers.filter((info) => speaks(info, tip.height === 1, nethash)).slice(0, COUNTED_PEERS_MAX);
  if (speaking.length === 0) return 0;
  const agreeing = speaking.filter(
    ({ lastBlockId, broadhash }) => lastBlockId === tip.id || (broadhash !== undefined && broadhash === tip.broadhash),
  );
  return Number(((agreeing.length / speaking.length) * 100).toPrecision(2));
}
