/**
 * Implements a devnet in the caller's process. All nodes of the devnet keep their data in memory and share one chain
 * clock.
 */

import { setImmediate } from 'node:timers/promises';
import { NO_FAULTS } from '../cli/devnet/faults.ts';
import { DevnetAccounts } from '../cli/devnet/devnet-accounts.ts';
import { parseTime, unixTimeOfDate } from '../cli/devnet/parse-time.ts';
import { MINED_SLOTS_MAX } from '../cli/devnet/mining.ts';
import { checkSnapshotName, unknownSnapshot } from '../cli/devnet/snapshots.ts';
import type { TimeState } from '../cli/devnet/devnet-clock.ts';
import { Timekeeper } from '../cli/devnet/timekeeper.ts';
import { UnusedTimestamps } from '../cli/devnet/unused-timestamps.ts';
import type { Network } from '../config/network.ts';
import { defaultEd25519 } from '../crypto/ed25519.ts';
import { keyPairOfPassphrase } from '../crypto/keys.ts';
import { systemClock } from '../node/system.ts';
import type { Observer } from '../ports/observer.ts';
import { createSigner } from '../protocol/sign.ts';
import { epochTimeS } from '../protocol/slots.ts';
import type { JsonObject } from '../protocol/types.ts';
import { checkAmount, checkMode, checkPayload } from './checks.ts';
import { MemoryNetwork } from './memory-transport.ts';
import { waitForHeight } from './height-wait.ts';
import { MemoryFaults } from './memory-faults.ts';
import { MemoryNode, type NodeCopy } from './memory-node.ts';
import { payloadOf } from './payload.ts';
import { passphraseOf } from './sender.ts';
import type {
  Mined,
  MiningMode,
  NetworkFacts,
  SendOptions,
  SentTransaction,
  Snapshot,
  TestAccount,
  TestDevnet,
  TestNode,
  TransactionPayload,
} from './types.ts';

export interface MemoryDevnetOptions {
  readonly network: Network;
  readonly accounts: readonly TestAccount[];
  readonly nodes: number;
  readonly mode: MiningMode;
  readonly observer: Observer;
}

interface Kept extends TimeState {
  readonly copies: readonly NodeCopy[];
  readonly facts: Snapshot;
}

/**
 * Port of the first node's address in the `MemoryNetwork`. The next nodes have the next ports. The nodes do not open
 * these ports on the machine.
 */
const FIRST_PORT = 5000;
/**
 * Maximum number of snapshots. A limit is necessary because each snapshot needs memory for copies of the chain, the
 * pool and the signing journal (the headers that the delegates have signed) of every node.
 */
const SNAPSHOTS_MAX = 100;
const PEERS_MS_MAX = 5000;
const PEERS_POLL_MS = 5;
const HEAL_MS_MAX = 60_000;
const HEAL_POLL_MS = 20;
/**
 * While the tips of the nodes differ, `heal` polls the tips. At the first poll, and at every 25th poll after the first,
 * `heal` mines a slot. Between two mined slots, the nodes can fetch a better chain. When two chains are equally good,
 * the block of a mined slot decides between the two chains.
 */
const HEAL_POLLS_PER_SLOT = 25;

export class MemoryDevnet implements TestDevnet {
  readonly accounts: readonly TestAccount[];
  readonly #options: MemoryDevnetOptions;
  readonly #memoryNetwork = new MemoryNetwork(systemClock);
  readonly #nodes: readonly MemoryNode[];
  readonly #timekeeper: Timekeeper;
  readonly #timestamps = new UnusedTimestamps();
  readonly #devnetAccounts: DevnetAccounts;
  readonly #snapshots = new Map<string, Kept>();
  readonly #faults = new MemoryFaults(() => this.#nodes);
  #groups: readonly (readonly number[])[] = [];
  /** Resolves when each node has accepted or refused all transactions that `#arrived` has sent to this node. */
  #handing: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: MemoryDevnetOptions) {
    this.#options = options;
    this.accounts = options.accounts;
    const { network } = options;
    this.#timekeeper = new Timekeeper({
      params: network.params,
      clock: systemClock,
      mode: options.mode,
      links: () => this.#nodes,
      partOf: (link) => this.#groupOf((link as MemoryNode).index),
      print: (line) => options.observer.log('warn', 'DEVNET_NOTE', line),
    });
    this.#devnetAccounts = new DevnetAccounts({
      directory: undefined,
      network,
      timekeeper: this.#timekeeper,
      accounts: options.accounts,
      timestamps: this.#timestamps,
    });
    const addresses = Array.from({ length: options.nodes }, (_, index) => ({
      ip: '127.0.0.1',
      wsPort: FIRST_PORT + index,
    }));
    this.#nodes = addresses.map((address, index) => {
      const others = addresses.filter((each) => each !== address);
      return new MemoryNode({
        ...{ index, network, address, others, memoryNetwork: this.#memoryNetwork, observer: options.observer },
        delegates: network.forgers?.delegates.filter((_, position) => position % options.nodes === index) ?? [],
        first: () => ({ setting: this.#timekeeper.setting, isHeld: true, impersonated: [], faults: NO_FAULTS }),
        onEvent: (event, node) => {
          if (event.event === 'transaction') this.#arrived(event.id, event.transaction, node);
        },
      });
    });
  }

  async start(): Promise<void> {
    await this.#openAll();
    await this.#timekeeper.begin();
  }

  get url(): string {
    return this.#node(0).url;
  }

  get nodes(): readonly TestNode[] {
    return this.#nodes.map(({ index, url }) => ({ index, url }));
  }

  get network(): NetworkFacts {
    const { name, params } = this.#options.network;
    const { generation, networkIdentifier, nethash, epochMs, blockTimeS, activeDelegates } = params;
    return { name, generation, networkIdentifier, nethash, epoch: new Date(epochMs), blockTimeS, activeDelegates };
  }

  account(name: string): TestAccount {
    const found = this.accounts.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no account ${name}: the first one is ${this.accounts[0]?.name}`);
    return found;
  }

  now(): Date {
    return new Date(this.#timekeeper.nowMs());
  }

  async mine(slots = 1): Promise<Mined> {
    if (!Number.isInteger(slots) || slots < 1 || slots > MINED_SLOTS_MAX) {
      throw new RangeError(`the number of slots must be an integer from 1 to ${MINED_SLOTS_MAX}`);
    }
    await this.#handing;
    const { time, ...mined } = await this.#timekeeper.mine(slots);
    return { ...mined, time: new Date(time) };
  }

  waitForHeight(height: number, options: { readonly timeoutMs?: number } = {}): Promise<void> {
    const isClosed = (): boolean => this.#isClosed;
    return waitForHeight(height, { ...options, nodes: this.#nodes, isClosed, clock: systemClock });
  }

  async setMining(mode: MiningMode): Promise<void> {
    checkMode(mode, 'the mode');
    return this.#timekeeper.setMode(mode);
  }

  async warp(to: string | Date): Promise<Date> {
    const atMs = typeof to === 'string' ? parseTime(to, this.#timekeeper.nowMs()) : unixTimeOfDate(to);
    return new Date((await this.#timekeeper.warp(atMs)).time);
  }

  async snapshot(name: string): Promise<Snapshot> {
    checkSnapshotName(name);
    if (!this.#snapshots.has(name) && this.#snapshots.size >= SNAPSHOTS_MAX) {
      throw new Error(`there are already ${SNAPSHOTS_MAX} snapshots: give the name of one of them, to replace it`);
    }
    const { setting, mode } = this.#timekeeper;
    return this.#timekeeper.whileFrozen(async () => {
      const copies = await Promise.all(this.#nodes.map((node) => node.copy()));
      const [best] = copies.map(({ state }) => state).sort((a, b) => b.tip.height - a.tip.height);
      const facts = { name, height: best?.tip.height ?? 0, blockId: best?.tip.id ?? '', digest: best?.digest ?? '' };
      this.#snapshots.set(name, { setting, mode, copies, facts });
      return { result: facts };
    });
  }

  async revert(name: string): Promise<Snapshot> {
    const kept = this.#snapshots.get(name);
    if (kept === undefined) throw unknownSnapshot(name, [...this.#snapshots.keys()]);
    return this.#timekeeper.whileFrozen(async () => {
      // All nodes close first, because a running node with the restored chain would fetch the newer chain from a node
      // that is not restored yet.
      for (const node of this.#nodes) await node.close();
      for (const [index, node] of this.#nodes.entries()) {
        const copy = kept.copies[index];
        if (copy !== undefined) node.restore(copy);
      }
      await this.#openAll();
      for (const [index, node] of this.#nodes.entries()) node.takeIn(kept.copies[index]?.pool ?? []);
      const wrong = this.#nodes.find((node, index) => node.digest() !== kept.copies[index]?.state.digest);
      if (wrong !== undefined) throw new Error(`node ${wrong.index} did not return to the state of ${name}`);
      await closedAtClients();
      return { result: kept.facts, restored: { setting: kept.setting, mode: kept.mode } };
    });
  }

  async send(
    from: TestAccount | string,
    payload: TransactionPayload,
    options: number | SendOptions = {},
  ): Promise<SentTransaction> {
    const { params } = this.#options.network;
    const { node: index = 0, anyPassphrase = false } = typeof options === 'number' ? { node: options } : options;
    const node = this.#node(index);
    checkPayload(payload);
    const keyPair = keyPairOfPassphrase(await passphraseOf(from, this.accounts, anyPassphrase));
    const signer = createSigner(params, defaultEd25519());
    const content = payloadOf(payload, params.generation, keyPair);
    const timestamp = this.#timestamps.next(keyPair, content, epochTimeS(this.#timekeeper.nowMs(), params));
    const transaction = signer.sign({ payload: content, timestamp, keyPair });
    const { id } = transaction;
    const json = signer.toJson(transaction);
    if (this.#timekeeper.mode === 'instant' && this.#groups.length === 0) {
      const { height } = await this.#timekeeper.confirm(id, json);
      return { id, height };
    }
    await this.#timekeeper.exclusively(() => node.ask({ op: 'transaction', transaction: json }));
    await this.#handing;
    return { id };
  }

  async fund(address: string, amount: bigint): Promise<SentTransaction> {
    checkAmount(amount, 1n);
    const { transactionId, height } = await this.#devnetAccounts.fund(address, amount.toString());
    return { id: transactionId, height };
  }

  async impersonate(address: string): Promise<void> {
    await this.#devnetAccounts.impersonate(address);
  }

  async partition(...groups: readonly (readonly number[])[]): Promise<void> {
    await this.#timekeeper.exclusively(async () => {
      const named = groups.map((group) => group.map((index) => this.#node(index).index));
      const rest = this.#nodes.map(({ index }) => index).filter((index) => !named.flat().includes(index));
      this.#groups = rest.length === 0 ? named : [...named, rest];
      this.#memoryNetwork.partition(this.#groups.map((group) => group.map((index) => this.#node(index).address)));
    });
  }

  delay(by: string | number, nodes?: readonly number[]): Promise<void> {
    return this.#timekeeper.exclusively(async () => this.#faults.delay(by, nodes));
  }

  loss(share: string | number, nodes?: readonly number[]): Promise<void> {
    return this.#timekeeper.exclusively(async () => this.#faults.lose(share, nodes));
  }

  skew(node: number, by: string | number): Promise<void> {
    return this.#timekeeper.exclusively(async () => this.#faults.skew(node, by));
  }

  async heal(): Promise<void> {
    await this.#timekeeper.exclusively(() => this.#faults.heal());
    this.#groups = [];
    this.#memoryNetwork.heal();
    const endMs = performance.now() + HEAL_MS_MAX;
    for (let polls = 1; !(await this.#areTogether()); polls += 1) {
      if (this.#isClosed || performance.now() > endMs) throw new Error('the nodes have not reached the same tip again');
      if (polls % HEAL_POLLS_PER_SLOT === 1) await this.#timekeeper.mine(1);
      await new Promise<void>((resolve) => void systemClock.after(HEAL_POLL_MS, resolve));
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timekeeper.stop();
    // Work that is in the queue of the timekeeper must end before the nodes close, because this work calls the nodes.
    await this.#timekeeper.exclusively(async () => Promise.all(this.#nodes.map((node) => node.close())));
    this.#snapshots.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Opens all nodes, and then waits until all nodes are connected to one another. The wait ends after at most
   * `PEERS_MS_MAX` milliseconds. During a partition, the function does not wait for the connections.
   */
  async #openAll(): Promise<void> {
    for (const node of this.#nodes) await node.open();
    const endMs = performance.now() + PEERS_MS_MAX;
    while (performance.now() < endMs) {
      const states = await Promise.all(this.#nodes.map((node) => node.ask({ op: 'state' })));
      // During a partition, nodes of different groups cannot connect.
      if (this.#groups.length > 0 || states.every(({ peers }) => peers >= this.#nodes.length - 1)) return;
      await new Promise<void>((resolve) => void systemClock.after(PEERS_POLL_MS, resolve));
    }
  }

  #node(index: number): MemoryNode {
    const node = this.#nodes[index];
    if (node === undefined)
      throw new RangeError(`there is no node ${index}: the last one is ${this.#nodes.length - 1}`);
    return node;
  }

  #groupOf(index: number): number {
    return this.#groups.findIndex((group) => group.includes(index));
  }

  /**
   * Gives a transaction to all other nodes in the group of `at`. The node `at` has accepted this transaction before. In
   * the mining mode `instant`, the timekeeper (`Timekeeper`) sends the transaction to the other nodes and mines blocks.
   * In all other mining modes, the other nodes get the transaction immediately, because the next slot can belong to a
   * delegate of any node.
   */
  #arrived(id: string, transaction: JsonObject, at: MemoryNode): void {
    if (this.#timekeeper.mode === 'instant') {
      this.#timekeeper.transactionArrived(id, transaction, at);
      return;
    }
    const reached = this.#nodes.filter((node) => node !== at && this.#groupOf(node.index) === this.#groupOf(at.index));
    const handed = reached.map((node) => node.ask({ op: 'transaction', transaction }).catch(() => undefined));
    this.#handing = Promise.all([this.#handing, ...handed]);
  }

  async #areTogether(): Promise<boolean> {
    const states = await Promise.all(this.#nodes.map((node) => node.ask({ op: 'state' })));
    return new Set(states.map(({ tip }) => tip.id)).size === 1;
  }
}

/**
 * Resolves when the HTTP clients of this process know that the nodes have closed their connections. A client socket
 * notices that its connection is closed when the event loop next looks for events of sockets. Before this moment,
 * `fetch` would send a request on the closed connection, and the request would fail.
 */
async function closedAtClients(): Promise<void> {
  for (let pass = 0; pass < 3; pass += 1) await setImmediate();
}
