/** Two real nodes and three of ours with the delegates split among them, each behind a gate. */

import type { ForgerEntry } from '../../src/config/network.ts';
import { compareNodes } from './compare.ts';
import { Gate } from './gate.ts';
import { makeNode, setForging, type InteropNode } from './nodes.ts';
import { untilSameTip } from './waiting.ts';
import { BLOCK_TIME_S, type World } from './world.ts';

const KINDS = ['real', 'real', 'ours', 'ours', 'ours'] as const;
/** Those who missed the last block come back by a message of the next one, which rest does not bring. */
const REST_MS_MAX = 45_000;

export class MixedNet {
  readonly world: World;
  readonly nodes: readonly InteropNode[];
  readonly #gates: readonly Gate[];

  private constructor(world: World, nodes: readonly InteropNode[], gates: readonly Gate[]) {
    this.world = world;
    this.nodes = nodes;
    this.#gates = gates;
  }

  /** Starts all of them on the genesis block. */
  static async start(world: World): Promise<MixedNet> {
    const nodes: InteropNode[] = [];
    const gates: Gate[] = [];
    for (const [index, kind] of KINDS.entries()) {
      const node = await makeNode(world, kind, { bindIp: `127.0.0.${index + 2}` });
      nodes.push(node);
      gates.push(await Gate.open(node.wsPort, node.bindIp));
    }
    const net = new MixedNet(world, nodes, gates);
    await Promise.all(nodes.map((node) => net.startNode(node)));
    return net;
  }

  get real(): readonly InteropNode[] {
    return this.nodes.filter(({ kind }) => kind === 'real');
  }

  get ours(): readonly InteropNode[] {
    return this.nodes.filter(({ kind }) => kind === 'ours');
  }

  startNode(node: InteropNode): Promise<void> {
    const peers = this.nodes.filter((other) => other !== node).map(({ address }) => address);
    return node.start({ peers, delegates: this.#delegatesOf(node) });
  }

  /** Keeps the nodes of two sides from each other. */
  cut(one: readonly InteropNode[], other: readonly InteropNode[]): void {
    this.nodes.forEach((node, index) => {
      const strangers = one.includes(node) ? other : other.includes(node) ? one : [];
      this.#gates[index]?.refuse(strangers.map(({ wsPort }) => wsPort));
    });
  }

  heal(): void {
    for (const gate of this.#gates) gate.refuse([]);
  }

  /** Has everybody rest, compares all with the first real node, and sets them to work again. */
  async compare(): Promise<string> {
    await this.#setForging(false);
    const { height } = await untilSameTip(this.nodes, REST_MS_MAX);
    const [reference, ...others] = this.nodes;
    if (reference === undefined) throw new Error('no nodes');
    let words = '';
    for (const other of others) {
      const { questions, fields } = await compareNodes(reference, other);
      words = `${fields} fields of ${questions} answers equal at ${height}`;
    }
    await this.#setForging(true);
    return words;
  }

  close(): void {
    for (const gate of this.#gates) gate.close();
  }

  async #setForging(forging: boolean): Promise<void> {
    const { password } = this.world;
    await Promise.all(this.nodes.map((node) => setForging(node, this.#delegatesOf(node), password, forging)));
  }

  #delegatesOf(node: InteropNode): readonly ForgerEntry[] {
    const index = this.nodes.indexOf(node);
    return this.world.delegates.filter((_, position) => position % this.nodes.length === index);
  }
}

/** Longest that a number of blocks may take with every second slot missed. */
export function blocksMs(blocks: number): number {
  return 60_000 + blocks * BLOCK_TIME_S * 2 * 1000;
}
