/**
 * Finds the reason why no delegate of this node may forge now: the node synchronises, it cannot write to the store, its
 * clock is wrong, or it may have no peers.
 */

import type { Clock } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Chain } from '../chain.ts';
import type { Obstacle } from '../disk-watch.ts';
import type { NetworkView } from '../network-view.ts';
import type { ClockOffset } from '../peers/clock-offset.ts';

/** Time in milliseconds after a start for which the node waits for its first peer before it forges without peers. */
const FIRST_PEER_WAIT_MS = 5000;

export interface ForgingObstaclesDependencies {
  readonly chain: Pick<Chain, 'rules' | 'disk'>;
  readonly synchronizer: { readonly syncing: boolean };
  readonly networkView: Pick<NetworkView, 'isChosen' | 'consensusObstacle'>;
  readonly clockOffset: Pick<ClockOffset, 'agreedMs'>;
  readonly transport: Pick<Transport, 'connections'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Percentage of connected peers that must have our tip; 0 for no requirement. */
  readonly consensusMin: number;
  /** Whether the operator named peers. */
  readonly expectsPeers: boolean;
}

export class ForgingObstacles {
  readonly #dependencies: ForgingObstaclesDependencies;
  /** Unix time of the start in milliseconds. */
  #startedMs = 0;

  constructor(dependencies: ForgingObstaclesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Starts the wait for the first peer. */
  started(): void {
    this.#startedMs = this.#dependencies.clock.nowMs();
  }

  /** Returns the first reason that prevents forging; undefined if nothing prevents forging. */
  first(): Obstacle | undefined {
    const { chain, synchronizer, networkView, transport, clock, consensusMin, expectsPeers } = this.#dependencies;
    if (synchronizer.syncing) return { reason: 'synchronising with the network' };
    const diskObstacle = chain.disk.checkWritable();
    if (diskObstacle !== undefined) return diskObstacle;
    const clockObstacle = this.#clockObstacle();
    if (clockObstacle !== undefined) return clockObstacle;
    const isFresh = clock.nowMs() < this.#startedMs + FIRST_PEER_WAIT_MS;
    // The network may be far ahead of our tip. A block on an old tip would only create a fork.
    if (expectsPeers && isFresh && transport.connections().length === 0)
      return { reason: 'no peer has reported its tip yet' };
    const reason = networkView.consensusObstacle(consensusMin);
    return reason === undefined ? undefined : { reason };
  }

  /** Checks the clock. If our clock is wrong, other nodes refuse our block or get it late. */
  #clockObstacle(): Obstacle | undefined {
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
