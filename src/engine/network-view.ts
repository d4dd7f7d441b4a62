/**
 * Shows the state of the network as the connected peers report it: the share of peers with our tip, and the tips of the
 * peers. By default, a node of generation 2 (the protocol of lisk-sdk 2.3) does not forge while too few peers have the
 * same tip as the node.
 */

import type { ChainParams } from '../protocol/params.ts';
import type { AnnouncedTip } from '../protocol/rules.ts';
import type { BlockId } from '../protocol/types.ts';
import type { PeerEntry } from '../ports/node-api.ts';
import type { ChainReader } from '../ports/store.ts';
import type { Connection, PeerId, Transport } from '../ports/transport.ts';
import { chainBroadhash } from './chain-broadhash.ts';
import type { PeerTips } from './forge/tip-check.ts';
import { consensusPercent, speaks } from './peers/consensus.ts';

export interface NetworkViewDependencies {
  /** The store must contain at least the genesis block. */
  readonly store: Pick<ChainReader, 'tip' | 'header' | 'heightOf'>;
  readonly params: ChainParams;
  readonly transport: Pick<Transport, 'connections'>;
  /** Returns true if the operator named this peer. */
  readonly isNamed: (peerId: PeerId) => boolean;
  /** Returns the fixed peers, to which the node always tries to be connected. */
  readonly fixedPeers: () => readonly PeerId[];
  /**
   * True if the node knows addresses of peers from its configuration or from the peer book, or if a peer is connected.
   */
  readonly arePeersExpected: () => boolean;
  /** True if this node dials peers. `PeerTips.areDialsExpected` (`forge/tip-check.ts`) lists the cases. */
  readonly areDialsExpected: () => boolean;
}

export class NetworkView {
  readonly #dependencies: NetworkViewDependencies;

  constructor(dependencies: NetworkViewDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the broadhash of our chain up to a height, in hexadecimal. The broadhash is a hash of the ids of the last
   * blocks (`protocol/broadhash.ts`).
   *
   * @param height height of the highest block to include; by default the height of the tip
   */
  broadhash(height?: number): string {
    const { store, params } = this.#dependencies;
    return chainBroadhash(store, params, height);
  }

  /**
   * Adds the broadhashes (hashes that identify the tip) of connected peers to a list of peers. If a connected peer
   * announced only the id of its tip, and our chain contains this tip, the method gives the peer the broadhash of our
   * chain up to this tip. The entries of all other peers stay unchanged: they have the announced broadhash, or no
   * broadhash.
   *
   * The method computes no broadhash for a peer that is not connected. The reason is that unknown nodes can fill the
   * peer book with peers and block ids, and the node must read the store several times to compute a broadhash.
   */
  withBroadhashes(peers: readonly PeerEntry[]): readonly PeerEntry[] {
    const computed = new Map<BlockId, string | undefined>();
    return peers.map((peer) => {
      const { broadhash: announced, lastBlockId } = peer.info;
      if (announced !== undefined || lastBlockId === undefined || peer.state !== 'connected') return peer;
      if (!computed.has(lastBlockId)) computed.set(lastBlockId, this.#broadhashAt(lastBlockId));
      const broadhash = computed.get(lastBlockId);
      return broadhash === undefined ? peer : { ...peer, info: { ...peer.info, broadhash } };
    });
  }

  #broadhashAt(blockId: BlockId): string | undefined {
    const height = this.#dependencies.store.heightOf(blockId);
    return height === undefined ? undefined : this.broadhash(height);
  }

  /**
   * Percentage of connected peers that have our tip, with two significant digits; 0 if `consensusPercent`
   * (`peers/consensus.ts`) counts none of the connected peers.
   */
  consensusPercent(): number {
    return this.#percentOf(this.#dependencies.transport.connections());
  }

  /**
   * Returns a sentence for operators if the consensus is too low to forge; undefined if the consensus is high enough.
   *
   * The consensus is high enough if it reaches `percentMin` in one of two groups of peers. The first group has the
   * peers that we dialled or that the operator named. This group counts because an attacker can dial us from many ports
   * and claim another tip, and so lower the consensus among all peers. A node of lisk-sdk counts only the peers that it
   * dialled. The second group has all peers. This group counts because a node without dialled peers can only rely on
   * the peers that dialled it.
   *
   * @param percentMin required percentage of peers with our tip; 0 for no requirement
   */
  lowConsensusReason(percentMin: number): string | undefined {
    if (percentMin === 0) return undefined;
    const percent = this.consensusPercent();
    if (percent >= percentMin) return undefined;
    const { transport } = this.#dependencies;
    const chosenPercent = this.#percentOf(transport.connections().filter((connection) => this.isChosen(connection)));
    if (chosenPercent >= percentMin) return undefined;
    const best = Math.max(percent, chosenPercent);
    return `${best} % of the peers share this node's tip, and forging requires ${percentMin} %`;
  }

  /**
   * True if this node dialled the peer or the operator named the peer. It is possible that all other peers belong to
   * one attacker.
   */
  isChosen({ direction, peerId }: Connection): boolean {
    return direction === 'outbound' || this.#dependencies.isNamed(peerId);
  }

  /**
   * Returns the tips that peers announced, as evidence about the tip of the network. A peer counts if three conditions
   * hold: the peer connected at `sinceMs` or later, announced a height, and counts in the consensus (`speaks` in
   * `peers/consensus.ts`). In generation 2, a peer that announces the genesis block as its tip does not count in the
   * consensus, unless our chain has only the genesis block. If this node dialled any of the counted peers, or if the
   * operator named any of them, the result has only the tips of the dialled or named peers. If this node dialled none
   * of the counted peers and the operator named none of them, the result has the tips of all counted peers.
   *
   * @param sinceMs Unix time in milliseconds
   */
  peerTips(sinceMs: number): PeerTips {
    const { transport, params, fixedPeers, arePeersExpected, areDialsExpected, store } = this.#dependencies;
    const isYoung = store.tip()?.height === 1;
    const withHeight = transport
      .connections()
      .filter(({ info, sinceMs: connectedMs }) => connectedMs >= sinceMs && speaks(info, isYoung, params.nethash))
      .filter(({ info }) => info.height !== undefined);
    const chosen = withHeight.filter((connection) => this.isChosen(connection));
    const counted = chosen.length > 0 ? chosen : withHeight;
    const fixed = new Set(fixedPeers());
    return {
      tips: counted.map(tipOf),
      namedTips: counted.filter(({ peerId }) => this.#dependencies.isNamed(peerId)).map(tipOf),
      fixed: fixed.size,
      fixedHeard: counted.filter(({ peerId }) => fixed.has(peerId)).length,
      areExpected: arePeersExpected(),
      areDialsExpected: areDialsExpected(),
      areChosen: chosen.length > 0,
    };
  }

  /**
   * Returns the height that the largest number of connected peers announce; 0 if no connected peer announces a height.
   * If several heights are equally frequent, the result is the lowest of these heights. If this node dialled any of the
   * peers that announce a height, or if the operator named any of them, only the dialled or named peers count. A node
   * of lisk-sdk counts all connected peers.
   */
  networkHeight(): number {
    const counts = new Map<number, number>();
    const announced = this.#dependencies.transport.connections().filter(({ info }) => info.height !== undefined);
    const chosen = announced.filter((connection) => this.isChosen(connection));
    for (const { info } of chosen.length > 0 ? chosen : announced) {
      const { height = 0 } = info;
      counts.set(height, (counts.get(height) ?? 0) + 1);
    }
    const [best] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || a - b);
    return best?.[0] ?? 0;
  }

  #percentOf(connections: readonly Connection[]): number {
    const { store, params } = this.#dependencies;
    const { id = '', height = 0 } = store.tip() ?? {};
    const infos = connections.map(({ info }) => info);
    return consensusPercent(infos, { id, height, broadhash: this.broadhash() }, params.nethash);
  }
}

function tipOf({ info: { height = 0, maxHeightPrevoted = 0 } }: Connection): AnnouncedTip {
  return { height, maxHeightPrevoted };
}
