/** Announces the tip, the TCP ports and the version of this node to its peers. */

import type { Clock, Timer } from '../ports/clock.ts';
import type { NodeInfo, Transport } from '../ports/transport.ts';
import type { Chain } from './chain.ts';
import type { EngineOptions, ListeningPorts } from './engine-options.ts';
import type { NetworkView } from './network-view.ts';

export interface TipAnnouncerDependencies {
  readonly chain: Pick<Chain, 'tip'>;
  readonly networkView: Pick<NetworkView, 'broadhash'>;
  readonly transport: Pick<Transport, 'announce'>;
  readonly isSyncing: () => boolean;
  readonly clock: Pick<Clock, 'after'>;
}

/**
 * Time in milliseconds after which the node announces an unchanged tip again. If a peer did not get the last
 * announcement, it counts this node among the peers with another tip. In generation 2, forging requires that half of
 * the peers have the tip of the node. Without a repetition, a network whose nodes have all missed an announcement could
 * stand for ever, because a new announcement would need a new block.
 */
const REPEATED_AFTER_MS = 30_000;

export class TipAnnouncer {
  readonly #dependencies: TipAnnouncerDependencies;
  readonly #options: Pick<EngineOptions, 'identity' | 'os' | 'advertiseAddress'>;
  #ports: ListeningPorts = { wsPort: 0, httpPort: 0 };
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(
    dependencies: TipAnnouncerDependencies,
    options: Pick<EngineOptions, 'identity' | 'os' | 'advertiseAddress'>,
  ) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  /** Passes the info about this node to the transport for the first time, before the node connects to peers. */
  start(ports: ListeningPorts): void {
    this.#ports = ports;
    this.#dependencies.transport.announce(this.#nodeInfo());
    this.#repeatLater();
  }

  /**
   * Ends the repetition of announcements. Later calls of `announce` do nothing: the last blocks of a download can arrive
   * after this call, and a new timer would keep the process alive.
   */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * Announces the tip that the node has at the time of the call. In addition, starts a timer that calls this method
   * again after `REPEATED_AFTER_MS`; each call replaces the timer of the previous call. While the node downloads blocks
   * (`Synchronizer.syncing`), a call only starts the timer and announces nothing, because each batch of downloaded
   * blocks changes the tip.
   */
  announce(): void {
    const { transport, isSyncing } = this.#dependencies;
    if (this.#isStopped) return;
    if (!isSyncing()) transport.announce(this.#nodeInfo());
    this.#repeatLater();
  }

  #repeatLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#dependencies.clock.after(REPEATED_AFTER_MS, () => this.announce());
  }

  #nodeInfo(): NodeInfo {
    const { chain, networkView } = this.#dependencies;
    const { identity, os, advertiseAddress = true } = this.#options;
    const { header } = chain.tip;
    return {
      os,
      version: identity.version,
      ...this.#ports,
      protocolVersion: identity.protocolVersion,
      nonce: identity.nonce,
      height: header.height,
      broadhash: networkView.broadhash(),
      blockVersion: header.version,
      maxHeightPrevoted: header.maxHeightPrevoted,
      lastBlockId: header.id,
      advertiseAddress,
    };
  }
}
