/** Announces the tip, the TCP ports and the version of this node to its peers. */

import type { NodeInfo, Transport } from '../ports/transport.ts';
import type { Chain } from './chain.ts';
import type { EngineOptions, ListeningPorts } from './engine-options.ts';
import type { NetworkView } from './network-view.ts';

export interface TipAnnouncerDependencies {
  readonly chain: Pick<Chain, 'tip'>;
  readonly networkView: Pick<NetworkView, 'broadhash'>;
  readonly transport: Pick<Transport, 'announce'>;
  readonly isSyncing: () => boolean;
}

export class TipAnnouncer {
  readonly #dependencies: TipAnnouncerDependencies;
  readonly #options: Pick<EngineOptions, 'identity' | 'os' | 'advertiseAddress'>;
  #ports: ListeningPorts = { wsPort: 0, httpPort: 0 };

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
  }

  /**
   * Announces the present tip. Does nothing during a sync, because each batch of downloaded blocks changes the tip.
   */
  announce(): void {
    const { transport, isSyncing } = this.#dependencies;
    if (!isSyncing()) transport.announce(this.#nodeInfo());
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
