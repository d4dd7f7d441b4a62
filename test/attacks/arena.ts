/**
 * A devnet of real node processes, for attacks. The class `Arena` makes the keys, connections and messages that an
 * attack uses, and measures the attacked node. The attacked node is the first node of the devnet (`target`). The other
 * nodes are honest peers of the attacked node.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAccounts } from '../../src/cli/genesis/accounts-file.ts';
import type { PeerVerdictState } from '../../src/cli/node-client.ts';
import { keyPairOfPassphrase } from '../../src/crypto/keys.ts';
import { partsOf } from '../../src/node/generations.ts';
import type { WireDialect } from '../../src/p2p/dialect.ts';
import type { PeerMessage } from '../../src/ports/transport.ts';
import { createRules } from '../../src/protocol/generations.ts';
import type { Rules } from '../../src/protocol/rules.ts';
import type { Block, KeyPair } from '../../src/protocol/types.ts';
import { headerWith } from '../support/fixtures.ts';
import { signBlock } from '../support/chain-maker.ts';
import { startTestDevnet, waitFor, waitForCommonBlock, type TestDevnet, type TestNode } from '../support/devnet.ts';
import type { Setting } from './attacks.ts';
import { Collector, INSPECTABLE } from './collector.ts';
import { Intruder, type IntruderOptions, type Presence } from './intruder.ts';
import type { Attack } from './measure.ts';

export interface Tip {
  readonly id: string;
  readonly height: number;
  /** Time of the block, in seconds since the epoch of the network. */
  readonly timestamp: number;
}

export class Arena {
  readonly devnet: TestDevnet;
  /**
   * A node without delegates, for attacks on a node that is behind the tip of the devnet. The node does not run until
   * such an attack starts the node.
   */
  readonly latecomer: TestNode;
  readonly rules: Rules;
  readonly dialect: WireDialect;
  /** True if the nodes allow every address to use their HTTP API. */
  readonly isPublic: boolean;
  /**
   * Text that the report shows for the attack. If this text is empty, the report shows how the connections of the
   * attack ended.
   */
  remark = '';
  /** All connections of the attacker in the current attack. */
  intruders: Presence[] = [];
  /** Clean-up functions of the attacks. `close` calls them when all attacks are over. */
  readonly lasting: (() => void)[] = [];
  #collector: Collector | undefined;
  #attack = 0;
  #addresses = 0;

  private constructor(devnet: TestDevnet, latecomer: TestNode, isPublic: boolean) {
    this.devnet = devnet;
    this.latecomer = latecomer;
    this.isPublic = isPublic;
    const parts = partsOf(devnet.network.params);
    const { protocolVersion, appVersion } = devnet.network;
    const identity = {
      networkName: '',
      version: appVersion,
      protocolVersion,
      build: '',
      commit: '',
      nonce: 'i'.repeat(16),
    };
    this.rules = createRules(devnet.network.params);
    this.dialect = parts.createDialect(devnet.network.params, identity);
  }

  static async open(
    generation: 2 | 3,
    nodes: number,
    attacks: readonly Attack[],
    setting: Setting = 'default',
  ): Promise<Arena> {
    const optionsBefore = process.env['NODE_OPTIONS'];
    process.env['NODE_OPTIONS'] = INSPECTABLE;
    const isPublic = setting !== 'default';
    const verifier = setting === 'portable' ? { backend: 'noble' } : {};
    const network = generation === 2 ? 'devnet-gen2' : 'devnet';
    const all = await startTestDevnet({ network, nodes, spectators: 1, http: { accessPublic: isPublic }, verifier });
    const devnet = { ...all, nodes: all.nodes.slice(0, nodes) };
    const latecomer = all.nodes[nodes] as TestNode;
    if (optionsBefore === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = optionsBefore;
    const arena = new Arena(devnet, latecomer, isPublic);
    for (const attack of attacks) await attack.prepare?.(arena);
    await arena.cleanUp();
    await waitFor('all peers are connected', async () => (await arena.honest()).size === nodes - 1, 150_000);
    await waitForCommonBlock(arena.devnet.nodes, 2, 150_000);
    arena.#collector = await Collector.open(arena.target);
    return arena;
  }

  async close(): Promise<void> {
    await this.cleanUp();
    for (const takeDown of this.lasting) takeDown();
    this.#collector?.close();
    await this.devnet.close();
  }

  get generation(): 2 | 3 {
    return this.devnet.network.params.generation;
  }

  get target(): TestNode {
    return this.devnet.nodes[0] as TestNode;
  }

  get wsPort(): number {
    return this.target.plan.wsPort;
  }

  /** Prepares for the next attack: clears `remark`. From now on, `newIp` returns addresses of another netgroup. */
  nextAttack(): void {
    this.#attack += 1;
    this.#addresses = 0;
    this.remark = '';
  }

  /** Returns an unused address. All addresses of one attack share a netgroup. */
  newIp(): string {
    this.#addresses += 1;
    const number = this.#addresses;
    return `127.${10 + this.#attack}.${(number >> 8) & 255}.${number & 255}`;
  }

  /**
   * Opens a connection from a new address (`newIp`) to the attacked node. `options.ip` replaces the new address, and
   * `options.port` replaces the peer port of the attacked node. Does not send the event `#handshake`.
   */
  intruder(options: Partial<IntruderOptions> & { readonly query?: Readonly<Record<string, string>> } = {}): Intruder {
    const query = new URLSearchParams({ ...this.query(), ...options.query });
    const intruder = new Intruder({
      host: '127.0.0.1',
      port: this.wsPort,
      target: `${this.dialect.path}?${query.toString()}`,
      ip: options.ip ?? this.newIp(),
      ...options,
    });
    this.intruders.push(intruder);
    return intruder;
  }

  /**
   * Opens a connection with `intruder`, and then sends the event `#handshake`, so that the node treats the attacker as
   * a peer.
   */
  async peer(options: Parameters<Arena['intruder']>[0] = {}): Promise<Intruder> {
    const intruder = this.intruder(options);
    await intruder.greet();
    return intruder;
  }

  /** Returns the query that an honest node of the network sends in its upgrade request. */
  query(wsPort = 5_000): Record<string, string> {
    return this.dialect.query(this.info(wsPort));
  }

  info(wsPort = 5_000) {
    const { protocolVersion, appVersion } = this.devnet.network;
    const nonce = Math.random().toString(16).slice(2).padEnd(16, '0').slice(0, 16);
    return { os: 'linux', version: appVersion, wsPort, httpPort: 0, protocolVersion, nonce, height: 1 };
  }

  /** Encodes a message for the wire protocol of the devnet's generation. */
  message(message: PeerMessage): { event: string; data: unknown } {
    const packed = this.dialect.packMessage(message);
    if (packed === undefined) throw new Error(`generation ${this.generation} has no word for ${message.kind}`);
    return { event: packed.event, data: packed.data };
  }

  /** Key pair of a devnet account. The attacker knows the keys of all devnet accounts. */
  keyPair(name: string): KeyPair {
    const account = readAccounts(this.devnet.network.directory).find((each) => each.name === name);
    if (account === undefined) throw new Error(`the devnet has no ${name}`);
    return keyPairOfPassphrase(account.passphrase);
  }

  /** Builds a block on the tip, without a check of the rules: the key pair need not belong to the slot owner. */
  block(tip: Tip, keyPair: KeyPair, changes: Partial<Block> = {}): Block {
    const { blockTimeS, generation } = { ...this.devnet.network.params };
    const header = headerWith({
      version: generation === 2 ? 1 : 2,
      height: tip.height + 1,
      timestamp: tip.timestamp + blockTimeS,
      previousBlockId: tip.id,
      reward: 0n,
    });
    return signBlock({ ...header, transactions: [] }, changes, keyPair);
  }

  blockMessage(block: Block): { event: string; data: unknown } {
    return this.message({ kind: 'block', block: this.rules.codec.blockToJson(block) });
  }

  async tip(node = this.target): Promise<Tip> {
    const [tip] = await this.ask<Tip[]>(node, 'blocks?limit=1');
    if (tip === undefined) throw new Error('a node without blocks');
    return tip;
  }

  async ask<T>(node: TestNode, path: string): Promise<T> {
    const response = await fetch(`${node.url}/api/${path}`, { signal: AbortSignal.timeout(60_000) });
    return ((await response.json()) as { data: T }).data;
  }

  async verdicts(): Promise<readonly PeerVerdictState[]> {
    return this.target.client.peerVerdicts(1_000);
  }

  /**
   * Returns for each honest peer of the attacked node the time at which the connection of this peer began. The keys are
   * the WebSocket ports of the peers.
   */
  async honest(): Promise<ReadonlyMap<number, string>> {
    const verdicts = await this.verdicts();
    const own = verdicts.filter(({ roles, verdict }) => roles.includes('fixed') && verdict === 'connected');
    return new Map(own.map(({ wsPort = 0, since = '' }) => [wsPort, since]));
  }

  /** Resident memory of the attacked node in bytes, after garbage collection. */
  async residentBytes(): Promise<number> {
    await this.#collector?.collect();
    const status = readFileSync(`/proc/${String(this.target.pid())}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  }

  /** Bytes of JavaScript heap and external memory that the attacked node uses, after garbage collection. */
  async usedBytes(): Promise<number> {
    return (await this.#collector?.usedBytes()) ?? 0;
  }

  /** Starts a CPU profile of the attacked node. @returns a function that stops the profile and returns its content */
  async profile(): Promise<() => Promise<unknown>> {
    if (this.#collector === undefined) throw new Error('the arena is not open');
    return this.#collector.profile();
  }

  /** Closes all connections of the current attack. */
  async cleanUp(): Promise<void> {
    for (const intruder of this.intruders) intruder.leave();
    this.intruders = [];
    await sleep(50);
  }
}
