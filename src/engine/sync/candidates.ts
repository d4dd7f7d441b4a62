/**
 * Selects the sync peer (the peer whose chain the node downloads) and the same-tip peers (other peers that announce
 * the same tip as the sync peer). The node selects only connected peers that are not in their backoff. The backoff of a
 * peer is a time after a failed sync; during this time, the node does not sync from the peer. A peer claims a better
 * chain if it announces a better tip than ours. If no peer announces a better tip than ours, and
 * `GenerationProfile.rivalsAtOurHeight` is true, the peers with another chain at our height count as peers that claim a
 * better chain.
 */

import type { Random } from '../../ports/clock.ts';
import type { Connection, PeerId, Transport } from '../../ports/transport.ts';
import type { AnnouncedTip } from '../../protocol/rules.ts';
import type { Chain } from '../chain.ts';
import type { Backoff } from './backoff.ts';

/** Maximum number of peers that `sameTipPeersOf` returns. */
const SAME_TIP_PEERS_MAX = 4;

export interface CandidateDependencies {
  readonly chain: Pick<Chain, 'rules' | 'tip'>;
  readonly transport: Pick<Transport, 'connections'>;
  readonly random: Random;
  readonly backoff: Pick<Backoff, 'isBackingOff'>;
  /** See `GenerationProfile.rivalsAtOurHeight`. */
  readonly rivalsAtOurHeight: boolean;
  /** Broadhash of our chain. */
  readonly broadhash: () => string;
}

/** A tip that a peer announces. */
export interface PeerTip {
  /** Block id or broadhash of the tip; undefined if the peer announces neither. */
  readonly name: string | undefined;
  readonly height: number;
}

export class Candidates {
  readonly #dependencies: CandidateDependencies;

  constructor(dependencies: CandidateDependencies) {
    this.#dependencies = dependencies;
  }

  /** True if a connected peer that is not in its backoff claims a better chain. */
  get exist(): boolean {
    return this.#better(new Set()).length > 0;
  }

  /**
   * Considers the dialled peers that are neither in `excluded` nor in their backoff. If some of these peers announce a
   * better tip than ours, the method returns the peers that announce the best tip. If none of these peers announces a
   * better tip, and `rivalsAtOurHeight` is true, the method returns the peers that have another chain at our height.
   */
  dialled(excluded: ReadonlySet<PeerId>): readonly Connection[] {
    return this.#better(excluded, isOutbound);
  }

  /**
   * Chooses the next sync peer. The method ignores the peers in `excluded`. Among the other peers, the method finds the
   * peers that claim the best chain (see `#better`), and chooses one of them. The peers that claim the best chain can
   * announce several different tips that are equally good. Peers that announce the same tip form a group, and the
   * result is a random peer from the largest group. The result is undefined if no peer outside `excluded` claims a
   * better chain.
   *
   * @param preferDialled if true, the method chooses only among dialled peers. If false, or if no dialled peer claims a
   *   better chain, the method chooses among all peers. The caller alternates between true and false. If the caller
   *   always passed false, an inbound peer that claims a very large height would always be chosen before the dialled
   *   peers.
   */
  choose(excluded: ReadonlySet<PeerId>, preferDialled: boolean): PeerId | undefined {
    const groups = new Map<string, PeerId[]>();
    const chosen = preferDialled ? this.dialled(excluded) : [];
    for (const connection of chosen.length > 0 ? chosen : this.#better(excluded)) {
      const key = tipName(connection) ?? '';
      groups.set(key, [...(groups.get(key) ?? []), connection.peerId]);
    }
    const largest = [...groups].sort(([idA, a], [idB, b]) => b.length - a.length || (idA < idB ? -1 : 1))[0]?.[1];
    return largest?.[this.#dependencies.random.below(largest.length)];
  }

  /** Returns the tip that a peer announces; undefined if the peer is not connected. */
  tipOf(peerId: PeerId): PeerTip | undefined {
    const connection = this.#dependencies.transport.connections().find((each) => each.peerId === peerId);
    return connection && { name: tipName(connection), height: connection.info.height ?? 0 };
  }

  /**
   * Returns up to `SAME_TIP_PEERS_MAX` peers that announce the same tip as the sync peer. The peers that we dialled
   * come first.
   *
   * @param tip the tip that the sync peer announces, or last announced before it disconnected
   */
  sameTipPeersOf(syncPeer: PeerId, tip: PeerTip | undefined): readonly PeerId[] {
    const { transport, backoff } = this.#dependencies;
    const name = tip?.name;
    if (name === undefined) return [];
    const others = transport
      .connections()
      .filter((other) => other.peerId !== syncPeer && tipName(other) === name && !backoff.isBackingOff(other.peerId));
    return [...others.filter(isOutbound), ...others.filter((other) => !isOutbound(other))]
      .slice(0, SAME_TIP_PEERS_MAX)
      .map(({ peerId }) => peerId);
  }

  /**
   * Returns true if two conditions hold: a peer that we dialled claims a chain that is better than ours, and the sync
   * peer is inbound or has disconnected.
   */
  isStrangerInTheWay(syncPeer: PeerId): boolean {
    const connection = this.#dependencies.transport.connections().find(({ peerId }) => peerId === syncPeer);
    return connection?.direction !== 'outbound' && this.#better(new Set([syncPeer]), isOutbound).length > 0;
  }

  /**
   * Returns true if a peer that is neither the sync peer nor in `tried` also claims a better chain. If we dialled the
   * sync peer, the claims of inbound peers do not count.
   */
  isAnotherWaiting(syncPeer: PeerId, tried: ReadonlySet<PeerId>): boolean {
    const excluded = new Set([syncPeer, ...tried]);
    if (this.dialled(excluded).length > 0) return true;
    const connection = this.#dependencies.transport.connections().find(({ peerId }) => peerId === syncPeer);
    return connection?.direction !== 'outbound' && this.#better(excluded).length > 0;
  }

  /**
   * Considers the connections for which `among` returns true, without the peers in `excluded` and the peers in their
   * backoff. If some of these peers announce a better tip than ours, the method returns the connections of the peers
   * that announce the best tip. If none of these peers announces a better tip than ours, and `rivalsAtOurHeight` is
   * true, the method returns the connections of the peers that have another chain at our height (`#rivals`).
   */
  #better(
    excluded: ReadonlySet<PeerId>,
    among: (connection: Connection) => boolean = () => true,
  ): readonly Connection[] {
    const { chain, transport, backoff, rivalsAtOurHeight } = this.#dependencies;
    const { rules, tip: ours } = chain;
    const free = transport
      .connections()
      .filter(among)
      .filter(({ peerId }) => !excluded.has(peerId) && !backoff.isBackingOff(peerId));
    const candidates = free.flatMap((connection) => {
      const tip = announcedTip(connection);
      return tip !== undefined && rules.prefersTip(tip, ours.header) ? [{ connection, tip }] : [];
    });
    if (candidates.length === 0 && rivalsAtOurHeight) return this.#rivals(free);
    return candidates
      .filter(({ tip }) => !candidates.some((other) => rules.prefersTip(other.tip, tip)))
      .map(({ connection }) => connection);
  }

  /** Returns peers at our height with another chain. Only a download shows whether their chain is better than ours. */
  #rivals(connections: readonly Connection[]): readonly Connection[] {
    const { height } = this.#dependencies.chain.tip.header;
    const broadhash = this.#dependencies.broadhash();
    return connections.filter(
      ({ info }) => info.height === height && info.broadhash !== undefined && info.broadhash !== broadhash,
    );
  }
}

function isOutbound({ direction }: Connection): boolean {
  return direction === 'outbound';
}

/** Returns the block id of the tip that a peer announces, or the broadhash if the peer announces no block id. */
function tipName({ info }: Connection): string | undefined {
  return info.lastBlockId ?? info.broadhash;
}

function announcedTip({ info }: Connection): AnnouncedTip | undefined {
  if (info.height === undefined) return undefined;
  return { height: info.height, maxHeightPrevoted: info.maxHeightPrevoted ?? 0 };
}
