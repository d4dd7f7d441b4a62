/**
 * Decides whether the node is ready to forge. The node is not ready while it syncs, while writes to its store fail, or
 * while its clock is wrong. If `consensusMin` is above 0, the node is also not ready while too few peers have its tip.
 * By default, `consensusMin` is above 0 only in generation 2. If the operator configured peers, the node also waits up
 * to 5 s after a start for its first peer.
 */

import type { Clock } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Chain } from '../chain.ts';
import type { NotReady } from '../disk-watch.ts';
import type { NetworkView } from '../network-view.ts';
import type { ClockOffset } from '../peers/clock-offset.ts';

/**
 * Maximum time in milliseconds that the node waits for its first peer after a start. After this time, the node is ready
 * without peers if `consensusMin` is 0.
 */
const FIRST_PEER_WAIT_MS = 5000;

export interface ForgingReadinessDependencies {
  readonly chain: Pick<Chain, 'rules' | 'disk'>;
  readonly synchronizer: { readonly syncing: boolean };
  readonly networkView: Pick<NetworkView, 'isChosen' | 'lowConsensusReason'>;
  readonly clockOffset: Pick<ClockOffset, 'agreedMs'>;
  readonly transport: Pick<Transport, 'connections'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Required percentage of peers with our tip; 0 for no requirement. The percentage must be reached in one of two
   * groups: all connected peers, or only the peers that this node dialled or that its operator named.
   */
  readonly consensusMin: number;
  /** Whether the operator configured peers to connect to. */
  readonly expectsPeers: boolean;
}

export class ForgingReadiness {
  readonly #dependencies: ForgingReadinessDependencies;
  /** Unix time in milliseconds at which the node started. */
  #startedMs = 0;

  constructor(dependencies: ForgingReadinessDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called when the node starts. Begins the wait for the first peer. */
  started(): void {
    this.#startedMs = this.#dependencies.clock.nowMs();
  }

  /** Returns the first reason that prevents forging; undefined if nothing prevents forging. */
  check(): NotReady | undefined {
    const { chain, synchronizer, networkView, transport, clock, consensusMin, expectsPeers } = this.#dependencies;
    if (synchronizer.syncing) return { reason: 'synchronising with the network' };
    const diskFault = chain.disk.checkWritable();
    if (diskFault !== undefined) return diskFault;
    const clockFault = this.#clockFault();
    if (clockFault !== undefined) return clockFault;
    const isFresh = clock.nowMs() < this.#startedMs + FIRST_PEER_WAIT_MS;
    // Until a peer has reported its tip, it is possible that the network is far ahead of our tip without our knowledge.
    // A block on an old tip would only create a fork.
    if (expectsPeers && isFresh && transport.connections().length === 0)
      return { reason: 'no peer has reported its tip yet' };
    const reason = networkView.lowConsensusReason(consensusMin);
    return reason === undefined ? undefined : { reason };
  }

  /**
   * Returns a reason if peers agree that our clock is wrong by more than one slot. If our clock is fast, other nodes
   * refuse our blocks. If our clock is slow, other nodes get our blocks too late.
   */
  #clockFault(): NotReady | undefined {
    const { chain, transport, networkView, clockOffset } = this.#dependencies;
    const chosen = transport.connections().filter((connection) => networkView.isChosen(connection));
    const slotMs = chain.rules.params.blockTimeS * 1000;
    const peers = chosen.map(({ peerId }) => peerId);
    const offsetMs = clockOffset.agreedMs(peers, slotMs);
    if (offsetMs === undefined) return undefined;
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    const reason = `peers agree that this clock is ${seconds} s ${offsetMs > 0 ? 'slow' : 'fast'}: correct it`;
    return { reason, cause: 'CLOCK_OFFSET' };
  }
}
