/**
 * The state of the network as the connected peers report it. It shows how many peers have our tip, the tips of the
 * other peers, and whether we may forge.
 */

import { BROADHASH_BLOCKS, broadhashOf } from '../protocol/broadhash.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { ChainReader } from '../ports/store.ts';
import type { Connection, PeerId, PeerInfo, Transport } from '../ports/transport.ts';
import type { Witnesses } from './forge/tip-check.ts';
import { consentPercent, speaks } from './peers/consent.ts';

export interface NetworkViewDependencies {
  /** The chain must have at least the genesis block. */
  readonly store: Pick<ChainReader, 'tip' | 'header' | 'heightOf'>;
  readonly params: ChainParams;
  readonly transport: Pick<Transport, 'connections'>;
  /** Whether the operator named this peer. */
  readonly isNamed: (peerId: PeerId) => boolean;
  /** Peers that the operator wants to be connected always. */
  readonly fixedPeers: () => readonly PeerId[];
  /** Whether the node knows peers that it can reach. */
  readonly arePeersExpected: () => boolean;
}

export class NetworkView {
  readonly #dependencies: NetworkViewDependencies;

  constructor(dependencies: NetworkViewDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Broadhash of our chain up to a height, hexadecimal.
   *
   * @param height height of the tip by default
   */
  broadhash(height = this.#dependencies.store.tip()?.height ?? 0): string {
    const { store, params } = this.#dependencies;
    const ids: string[] = [];
    for (let at = height; at > Math.max(0, height - BROADHASH_BLOCKS); at -= 1) {
      const header = store.header(at);
      if (header !== undefined) ids.push(header.id);
    }
    return broadhashOf(ids, params);
  }

  /**
   * Broadhash of a peer. It is the announced one, or that of the peer's tip in our chain; undefined if our chain does
   * not have that block.
   */
  broadhashOfPeer({ broadhash, lastBlockId }: PeerInfo): string | undefined {
    if (broadhash !== undefined || lastBlockId === undefined) return broadhash;
    const height = this.#dependencies.store.heightOf(lastBlockId);
    return height === undefined ? undefined : this.broadhash(height);
  }

  /** Percent of connected peers that have our tip, with two significant digits; 0 without peers. */
  consensusPercent(): number {
    return this.#percentOf(this.#dependencies.transport.connections());
  }

  /**
   * The reason, as a sentence, why consent is too low to forge; undefined if it is high enough.
   *
   * Anybody may dial us from many ports and claim another tip. So consent is enough if it comes from the peers that we
   * dialled or that the operator named. The reference (lisk-sdk) counts the peers that it dialled. If a node has
   * dialled none of its peers, it can only rely on the peers that dialled it. The consent of all peers together is
   * enough, too.
   *
   * @param percentMin 0 requires no consent
   */
  consensusObstacle(percentMin: number): string | undefined {
    if (percentMin === 0) return undefined;
    const percent = this.consensusPercent();
    if (percent >= percentMin) return undefined;
    const { transport } = this.#dependencies;
    const chosenPercent = this.#percentOf(transport.connections().filter((connection) => this.isChosen(connection)));
    if (chosenPercent >= percentMin) return undefined;
    const best = Math.max(percent, chosenPercent);
    return `${best} % of the peers share this node's tip, and forging takes ${percentMin} %`;
  }

  /**
   * Whether this node dialled the peer, or its operator named it. Any other peer may belong to an attacker that runs
   * many peers.
   */
  isChosen({ direction, peerId }: Connection): boolean {
    return direction === 'outbound' || this.#dependencies.isNamed(peerId);
  }

  /**
   * The evidence of the peers that connected since a given moment.
   *
   * @param sinceMs Unix time in milliseconds
   */
  witnesses(sinceMs: number): Witnesses {
    const { transport, params, fixedPeers, arePeersExpected, store } = this.#dependencies;
    const isYoung = store.tip()?.height === 1;
    const heard = transport
      .connections()
      .filter(({ info, sinceMs: connectedMs }) => connectedMs >= sinceMs && speaks(info, isYoung, params.nethash))
      .filter(({ info }) => info.height !== undefined);
    const chosen = heard.filter((connection) => this.isChosen(connection));
    const counted = chosen.length > 0 ? chosen : heard;
    const fixed = new Set(fixedPeers());
    return {
      tips: counted.map(({ info: { height = 0, maxHeightPrevoted = 0 } }) => ({ height, maxHeightPrevoted })),
      named: fixed.size,
      namedHeard: counted.filter(({ peerId }) => fixed.has(peerId)).length,
      areExpected: arePeersExpected(),
    };
  }

  /**
   * The most frequent height among connected peers; 0 without peers. If several heights are equally frequent, the
   * lowest of them.
   */
  networkHeight(): number {
    const counts = new Map<number, number>();
    for (const { info } of this.#dependencies.transport.connections()) {
      if (info.height !== undefined) counts.set(info.height, (counts.get(info.height) ?? 0) + 1);
    }
    const [best] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || a - b);
    return best?.[0] ?? 0;
  }

  #percentOf(connections: readonly Connection[]): number {
    const { store, params } = this.#dependencies;
    const { id = '', height = 0 } = store.tip() ?? {};
    const infos = connections.map(({ info }) => info);
    return consentPercent(infos, { id, height, broadhash: this.broadhash() }, params.nethash);
  }
}
