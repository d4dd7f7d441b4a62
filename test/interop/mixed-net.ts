/** Two real nodes and three of ours with the delegates split among them, each behind a proxy. */

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

  /** Starts all of them on the genesis block. */
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
   * Real nodes of generation 2 have forging switched on by hand, as their operators do it: what is forced to forge asks nobody
   * for consent, and so never leaves a branch of its own.
   */
  async startNode(node: InteropNode): Promise<void> {
    const peers = this.nodes.filter((other) => other !== node).map(({ address }) => address);
    const delegates = this.#delegatesOf(node);
    const byHand = this.world.generation === 2 && node.kind === 'real';
    await node.start({ peers, delegates, force: !byHand });
    if (byHand) await setForging(node, delegates, this.world.password, true);
  }

  /** Release 3.0.2 cannot start with its tip at heights 101 to 201, nor revert one at 102 to 202. */
  async pastFirstRounds(): Promise<void> {
    const height = this.world.generation === 3 ? 205 : 10;
    await untilHeight(this.nodes[0], height, blocksMs(height));
    await untilCommonBlock(this.nodes, height, MEET_MS_MAX);
  }

  /** Keeps the nodes of two sides from each other. */
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
   * A real node of generation 2 counts the consent of those whom it has dialled itself and is blind to others, and between two
   * nodes there is one connection: ours, which dial at once what they have lost, leave it to the real one.
   */
  #neverDialling(node: InteropNode): readonly InteropNode[] {
    return this.world.generation === 2 && node.kind === 'real' ? this.ours : [];
  }

  /** Has everybody rest, compares all with the first real node, and sets them to work again. */
  async compare(): Promise<string> {
    const { height } = await restTogether(this.nodes, (forging) => this.#setForging(forging));
    const [reference, ...others] = this.nodes;
    if (reference === undefined) throw new Error('no nodes');
    let words = '';
    for (const other of others) {
      const { questions, fields } = await compareNodes(reference, other);
      words = `At height ${height}, all ${fields} fields of ${questions} answers are equal.`;
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

/** Longest that a number of blocks may take with every second slot missed. */
export function blocksMs(blocks: number): number {
  return 60_000 + blocks * BLOCK_TIME_S * 2 * 1000;
}
