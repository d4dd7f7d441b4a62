/**
 * Computes the consensus: the percentage of peers that have the tip of this node. `ForgingReadiness` compares the
 * consensus with the option `forging.consensusMin`.
 */

import type { PeerInfo } from '../../ports/transport.ts';

/** Maximum number of peers from which the consensus is computed; lisk-sdk has the same maximum. */
const COUNTED_PEERS_MAX = 100;

export interface OwnTip {
  readonly id: string;
  readonly height: number;
  readonly broadhash: string;
}

/**
 * Returns whether a peer counts in the consensus. In generation 2 (the protocol of lisk-sdk 2.3), a peer that announces
 * the height and the broadhash of the genesis block does not count, unless the genesis block is the only block of our
 * chain. All other peers count, even if they announce no tip.
 *
 * A node of lisk-sdk 2.3.8 announces the height and broadhash of the genesis block until it receives a block by gossip,
 * even if it has synchronised before. This announcement therefore shows nothing about the tip of the peer. If the
 * consensus counted such a peer as a peer with another tip, a newly started network could deadlock. The peers that
 * still announce the genesis block would lower the consensus of the other nodes, so the other nodes would not forge.
 * The nodes that announce the genesis block announce another tip only after somebody has forged a block, so this state
 * would not end.
 *
 * @param isYoung true if our chain has only the genesis block
 * @param nethash broadhash of a chain with only the genesis block
 */
export function speaks({ height, broadhash }: PeerInfo, isYoung: boolean, nethash: string): boolean {
  return isYoung || height !== 1 || broadhash !== nethash;
}

/**
 * Returns the percentage of peers whose announced tip is ours, rounded to two significant digits. The function uses
 * only the first hundred peers that count in the consensus (`speaks` returns true). In generation 2, a peer that
 * announces the genesis block as its tip does not count, unless our chain has only the genesis block. The result is 0
 * if no peer counts.
 */
export function consensusPercent(peers: readonly PeerInfo[], tip: OwnTip, nethash: string): number {
  const speaking = peers.filter((info) => speaks(info, tip.height === 1, nethash)).slice(0, COUNTED_PEERS_MAX);
  if (speaking.length === 0) return 0;
  const agreeing = speaking.filter(
    ({ lastBlockId, broadhash }) => lastBlockId === tip.id || (broadhash !== undefined && broadhash === tip.broadhash),
  );
  return Number(((agreeing.length / speaking.length) * 100).toPrecision(2));
}
