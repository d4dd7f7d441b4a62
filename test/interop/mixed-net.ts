/**
 * A network of five nodes: two nodes of lisk-sdk (real nodes) and three nodes of this project. Each node forges with a
 * part of the delegates. The other nodes connect to a node through its proxy, which can refuse their connections.
 */

import type { ForgerEntry } from '../../src/config/network.ts';
import { compareNodes } from './compare.ts';
import { PeerProxy } from './peer-proxy.ts';
import { restTogether } from './rest.ts';
import { makeNode, setForging, type InteropNode } from './nodes.ts';
import { untilCommonBlock, untilHeight } from './waiting.ts';
import { BLOCK_TIME_S, type World } from './world.ts';

const SEATS = [
  { kind: 'real', delegates: 20 },
  { kind: 'real', delegates: 20 },
  { kind: 'ours', delegates: 20 },
  { kind: 'ours', delegates: 20 },
  { kind: 'ours', delegates: 21 },
] as const;
const MEET_MS_MAX = 45_000;

export class MixedNet {
  readonly world: World;
  readonly nodes: readonly InteropNode[];
  readonly #proxies: readonly PeerProxy[];

  private constructor(world: World, nodes: readonly InteropNode[], proxies: readonly PeerProxy[]) {
    this.world = world;
    this.nodes = nodes;
    this.#proxies = proxies;
  }

  /** Starts all nodes at the genesis block. */
  static async start(world: World): Promise<MixedNet> {
    const nodes: InteropNode[] = [];
    for (const [index, { kind }] of SEATS.entries()) {
      nodes.push(await makeNode(world, kind, { ip: `127.0.1.${index + 1}`, bindIp: `127.0.2.${index + 1}` }));
    }
    const ipOfPort = new Map(nodes.map(({ wsPort, ip }) => [wsPort, ip]));
    const proxies = await Promise.all(nodes.map((node) => PeerProxy.open(node, ipOfPort)));
    const net = new MixedNet(world, nodes, proxies);
    net.heal();
    world.closing.push(() => proxies.forEach((proxy) => proxy.close()));
    await Promise.all(nodes.map((node) => net.startNode(node)));
    return net;
  }

  get real(): readonly InteropNode[] {
    return this.nodes.filter(({ kind }) => kind === 'real');
  }

  get ours(): readonly InteropNode[] {
    return this.nodes.filter(({ kind }) => kind === 'ours');
  }

  /**
   * Starts a node and its forging. The option `force` makes a node forge from its start, even if few of its peers have
   * the same tip as the node. A real node (of lisk-sdk) of generation 2 gets no `force`, because with `force` it would
   * continue to forge on its own branch, and would never leave this branch. The test enables forging on this node over
   * HTTP instead, as operators do.
   */
  async startNode(node: InteropNode): Promise<void> {
    const peers = this.nodes.filter((other) => other !== node).map(({ address }) => address);
    const delegates = this.#delegatesOf(node);
    const byHand = this.world.generation === 2 && node.kind === 'real';
    await node.start({ peers, delegates, force: !byHand });
    if (byHand) await setForging(node, delegates, this.world.password, true);
  }

  /**
   * Waits for height 10 in generation 2. In generation 3, waits for height 205, because release 3.0.2 has two faults at
   * lower heights. It cannot start if the height of its tip is 101 to 201, and it cannot revert its tip if the height
   * is 102 to 202.
   */
  async pastFirstRounds(): Promise<void> {
    const height = this.world.generation === 3 ? 205 : 10;
    await untilHeight(this.nodes[0], height, blocksMs(height));
    await untilCommonBlock(this.nodes, height, MEET_MS_MAX);
  }

  /**
   * Closes all connections between two groups of nodes, and refuses new ones until the next call of `cut` or `heal`. In
   * generation 2, the proxies of the real nodes always refuse connections from our nodes, even without a cut (see
   * `#neverDialling`).
   */
  cut(one: readonly InteropNode[], other: readonly InteropNode[]): void {
    this.nodes.forEach((node, index) => {
      const strangers = one.includes(node) ? other : other.includes(node) ? one : [];
      const refused = [...strangers, ...this.#neverDialling(node)];
      this.#proxies[index]?.refuse(refused.map(({ wsPort }) => wsPort));
    });
  }

  heal(): void {
    this.cut([], []);
  }

  /**
   * Nodes that must not dial the given node. A real node (of lisk-sdk) of generation 2 forges only if enough peers have
   * the same tip as this node. For this condition, the real node counts only the peers that it dialled itself. Two
   * nodes keep only one connection to each other. If our nodes could dial the real node, they would connect before the
   * real node dials them. The real node would then not count our nodes.
   */
  #neverDialling(node: InteropNode): readonly InteropNode[] {
    return this.world.generation === 2 && node.kind === 'real' ? this.ours : [];
  }

  /**
   * Stops forging on all nodes. Compares the answers of the first real node with those of every other node. Then starts
   * forging again.
   */
  async compare(): Promise<string> {
    const { height } = await restTogether(this.nodes, (forging) => this.#setForging(forging));
    const [reference, ...others] = this.nodes;
    if (reference === undefined) throw new Error('no nodes');
    let words = '';
    for (const other of others) {
      const { answers, fields } = await compareNodes(reference, other);
      words = `At height ${height}, all ${fields} fields of ${answers} answers are equal.`;
    }
    await this.#setForging(true);
    return words;
  }

  async #setForging(forging: boolean): Promise<void> {
    const { password } = this.world;
    await Promise.all(this.nodes.map((node) => setForging(node, this.#delegatesOf(node), password, forging)));
  }

  #delegatesOf(node: InteropNode): readonly ForgerEntry[] {
    const index = this.nodes.indexOf(node);
    const before = SEATS.slice(0, index).reduce((sum, seat) => sum + seat.delegates, 0);
    return this.world.delegates.slice(before, before + (SEATS[index]?.delegates ?? 0));
  }
}

/**
 * Returns the time limit in milliseconds for forging a number of blocks. The limit is one minute, plus the time of two
 * slots for each block.
 */
export function blocksMs(blocks: number): number {
  return 60_000 + blocks * BLOCK_TIME_S * 2 * 1000;
}
