/** Counts the peers that have the tip of this node; in generation 2, forging depends on their share. */

import type { PeerInfo } from '../../ports/transport.ts';

/** Number of peers that count: the same as in the reference. */
const COUNTED_PEERS_MAX = 100;

export interface OwnTip {
  readonly id: string;
  readonly height: number;
  readonly broadhash: string;
}

/**
 * Whether a peer has announced its tip.
 *
 * Release 2.3.8 announces the genesis block's height and broadhash from its start until gossip brings it a block, however far
 * it has synchronised meanwhile. Such a peer has announced no tip. If it counted as a peer on another tip, half of a newly
 * started network would keep the other half from forging the block that would make it announce its tip.
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
