/**
 * Stores the peers that the operator named in the configuration, and the roles of each of these peers. The roles are
 * fixed peer, seed and whitelisted peer. Also stores the blacklisted IP addresses.
 */

import type { PeerRole } from '../../ports/node-api.ts';
import { peerIdOf, type PeerAddress, type PeerId } from '../../ports/transport.ts';
import { ipOf } from './addresses.ts';
import { isOwnAddress } from './dialler.ts';

export interface NamedPeersOptions {
  /** The address at which this node listens. */
  readonly own: PeerAddress;
  /**
   * The node dials a fixed peer whenever the peer is not connected. The node never disconnects a fixed peer to make
   * room for another peer. Fixed peers lose points of their reputation only for the offences in `NEVER_EXEMPT`
   * (`peer-scoring.ts`).
   */
  readonly fixedPeers: readonly PeerAddress[];
  /**
   * Peers that the node asks for the addresses of other peers. The node disconnects its seeds when `outboundMax`
   * (`PeerManagerOptions`) allows no further outbound connection. Seeds lose points only for the offences in
   * `NEVER_EXEMPT`.
   */
  readonly seedPeers: readonly PeerAddress[];
  /**
   * Peers that stay in the peer book. The node never closes the inbound connection of such a peer to make room for
   * another connection. Whitelisted peers lose points only for the offences in `NEVER_EXEMPT`.
   */
  readonly whitelistedPeers: readonly PeerAddress[];
  /** IP addresses to which the node never connects, and from which the node accepts no connection. */
  readonly blacklistedIps: readonly string[];
}

export class NamedPeers {
  readonly #options: NamedPeersOptions;
  readonly #seeds: Map<PeerId, PeerAddress>;
  readonly fixed: ReadonlyMap<PeerId, PeerAddress>;
  /** Fixed and whitelisted peers. */
  readonly pinned: ReadonlySet<PeerId>;

  constructor(options: NamedPeersOptions) {
    this.#options = options;
    const usable = (peers: readonly PeerAddress[]): Map<PeerId, PeerAddress> =>
      new Map(peers.filter((peer) => this.#isUsable(peer)).map((peer) => [peerIdOf(peer), peer]));
    this.fixed = usable(options.fixedPeers);
    this.#seeds = usable(options.seedPeers.filter((peer) => !this.fixed.has(peerIdOf(peer))));
    this.pinned = new Set([...this.fixed.keys(), ...usable(options.whitelistedPeers).keys()]);
  }

  get seeds(): ReadonlyMap<PeerId, PeerAddress> {
    return this.#seeds;
  }

  all(): readonly PeerId[] {
    return [...this.pinned, ...this.#seeds.keys()];
  }

  includes(peerId: PeerId): boolean {
    return this.pinned.has(peerId) || this.#seeds.has(peerId);
  }

  /**
   * @returns true if the method added the seed; false if the peer is already a fixed peer or a seed, or if the node
   *   cannot use the seed (`#isUsable`)
   */
  addSeed(seed: PeerAddress): boolean {
    const peerId = peerIdOf(seed);
    if (!this.#isUsable(seed) || this.fixed.has(peerId) || this.#seeds.has(peerId)) return false;
    this.#seeds.set(peerId, seed);
    return true;
  }

  rolesOf(peerId: PeerId): readonly PeerRole[] {
    const isFixed = this.fixed.has(peerId);
    const roles: PeerRole[] = [];
    if (isFixed) roles.push('fixed');
    if (this.#seeds.has(peerId)) roles.push('seed');
    if (!isFixed && this.pinned.has(peerId)) roles.push('whitelisted');
    if (this.isBlacklisted(ipOf(peerId))) roles.push('blacklisted');
    return roles;
  }

  isBlacklisted(ip: string): boolean {
    return this.#options.blacklistedIps.includes(ip);
  }

  /** Returns true if the node can use a named peer. The node cannot use its own address or a blacklisted address. */
  #isUsable(peer: PeerAddress): boolean {
    return !isOwnAddress(peer, this.#options.own) && !this.isBlacklisted(peer.ip);
  }
}
