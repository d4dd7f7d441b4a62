/**
 * Implements a node that runs in the caller's process, and keeps its chain, journals and pool in memory. The HTTP port
 * is the only port that the node opens on the machine.
 */

import { loadConfig } from '../config/load.ts';
import type { Network } from '../config/network.ts';
import { NodeAgent } from '../cli/devnet/node-agent.ts';
import type { AgentEvent, AgentLink, AgentRequest, AgentStart, AgentState } from '../cli/devnet/messages.ts';
import { DEVNET_HOST } from '../cli/devnet/plan.ts';
import { MemoryTransactionJournal } from '../engine/pool/journal-entries.ts';
import { POOL_STATES } from '../engine/pool/queues.ts';
import type { ControlledParts, NodeControl } from '../node/node-control.ts';
import { startNode, type RunningNode } from '../node/node.ts';
import { systemClock, systemRandom } from '../node/system.ts';
import type { Observer } from '../ports/observer.ts';
import type { PeerAddress } from '../ports/transport.ts';
import type { JsonObject } from '../protocol/types.ts';
import type { ForgerEntry } from '../config/network.ts';
import { MemoryKeyValue } from '../store/disk/memory.ts';
import type { KeyValue } from '../store/tables/key-value.ts';
import type { MemoryNetwork } from './memory-transport.ts';
import { MemorySigningJournal } from './memory-journal.ts';

export interface MemoryNodeOptions {
  readonly index: number;
  readonly network: Network;
  readonly delegates: readonly ForgerEntry[];
  /** Address of this node in `memoryNetwork`. */
  readonly address: PeerAddress;
  /** Addresses of the other nodes in `memoryNetwork`. */
  readonly others: readonly PeerAddress[];
  readonly memoryNetwork: MemoryNetwork;
  readonly observer: Observer;
  readonly first: () => AgentStart;
  readonly onEvent: (event: AgentEvent, node: MemoryNode) => void;
}

/**
 * Copy of the chain, the signing journal (the headers that the node's delegates have signed) and the pool of a node at
 * one moment.
 */
export interface NodeCopy {
  readonly keyValue: KeyValue;
  readonly journal: MemorySigningJournal;
  readonly pool: readonly JsonObject[];
  readonly state: AgentState;
}

export class MemoryNode implements AgentLink {
  readonly #options: MemoryNodeOptions;
  readonly #agent: NodeAgent;
  #keyValue: KeyValue = new MemoryKeyValue();
  #journal = new MemorySigningJournal();
  #parts: ControlledParts | undefined;
  #running: RunningNode | undefined;
  /** HTTP port; 0 until the first start has chosen a free port. */
  #httpPort = 0;

  constructor(options: MemoryNodeOptions) {
    this.#options = options;
    this.#agent = new NodeAgent({
      ...options.first(),
      clock: systemClock,
      random: systemRandom,
      emit: (event) => options.onEvent(event, this),
    });
  }

  get index(): number {
    return this.#options.index;
  }

  get address(): PeerAddress {
    return this.#options.address;
  }

  get url(): string {
    return `http://${DEVNET_HOST}:${this.#httpPort}`;
  }

  ask(request: AgentRequest): Promise<AgentState> {
    return this.#agent.handle(request);
  }

  async open(): Promise<void> {
    const { network, observer } = this.#options;
    const agent = this.#agent;
    const control: NodeControl = {
      chainClock: agent.chainClock,
      ed25519: agent.ed25519,
      clockMoved: () => agent.clockMoved(),
      isForgingSuspended: () => agent.isForgingSuspended(),
      verifier: (over) => agent.verifier(over),
      built: (parts) => {
        this.#parts = parts;
        agent.built(parts);
      },
      memory: {
        keyValue: this.#keyValue,
        journal: this.#journal,
        // The transaction journal (the transactions and signatures that the node has accepted from clients) is empty at
        // each start. A node starts again only when the devnet reverts to a snapshot, and `takeIn` then restores the
        // pool.
        transactionJournal: new MemoryTransactionJournal(),
      },
      transport: this.#options.memoryNetwork.transport(this.#options.address),
      wire: (over) => agent.wire(over),
      keepsConnections: true,
    };
    this.#running = await startNode({ network, dataDirectory: '', config: this.#config(), observer, control });
    this.#httpPort = this.#running.httpPort;
  }

  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    this.#parts = undefined;
    await running?.close();
  }

  /**
   * Copies the chain, the signing journal (the headers that the node's delegates have signed) and the pool. The caller
   * must prevent the forging of blocks during the copy.
   *
   * @throws Error if the node is closed
   */
  async copy(): Promise<NodeCopy> {
    const parts = this.#parts;
    if (parts === undefined) throw new Error(`node ${this.index} is closed`);
    const { chain, importer, pool } = parts.engine;
    await importer.idle();
    const entries = [...POOL_STATES].reverse().flatMap((state) => pool.entries(state));
    return {
      keyValue: this.#keyValue.snapshot(),
      journal: this.#journal.copy(),
      pool: entries.map(({ transaction }) => chain.rules.codec.transactionToJson(transaction)),
      state: { ...this.#agent.state(), digest: parts.store.stateDigest() },
    };
  }

  /**
   * Replaces the chain and the signing journal (the headers that the node's delegates have signed) of this closed node
   * by copies from a snapshot of the devnet. The snapshot stays unchanged.
   */
  restore({ keyValue, journal }: NodeCopy): void {
    this.#keyValue = keyValue.snapshot();
    this.#journal = journal.copy();
  }

  /** Adds the pool transactions of a snapshot of the devnet to the pool of this open node. */
  takeIn(transactions: readonly JsonObject[]): void {
    for (const transaction of transactions) this.#parts?.engine.pool.submit(transaction);
  }

  /** Returns the SHA-256 hash of the state at the tip; an empty text while the node is closed. */
  digest(): string {
    return this.#parts?.store.stateDigest() ?? '';
  }

  #config() {
    const { network, delegates, address, others } = this.#options;
    const values: Readonly<Record<string, unknown>> = {
      'http.port': this.#httpPort,
      'http.host': DEVNET_HOST,
      'http.socketTimeoutMs': 120_000,
      'p2p.enabled': others.length > 0,
      'p2p.host': address.ip,
      'p2p.port': address.wsPort,
      'p2p.fixedPeers': others.map(({ ip, wsPort }) => `${ip}:${wsPort}`),
      'forging.force': true,
      'forging.defaultPassword': network.forgers?.defaultPassword ?? '',
      'forging.delegates': delegates,
      ...(network.params.generation === 2 && others.length > 0 ? { 'forging.consensusMin': 0 } : {}),
      'verifier.threads': 0,
      'pool.broadcastIntervalMs': 1000,
    };
    return loadConfig({ network, environment: {}, flags: new Map(Object.entries(values)) });
  }
}
