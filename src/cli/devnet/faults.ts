/** Faults of a running devnet: which of them stand, and what they mean for each node. */

/** What is wrong between a node and one of its peers. */
export interface LinkFaults {
  /** Nothing crosses; connections stay open, dials fail. */
  readonly isCut: boolean;
  /** One way. */
  readonly delayMs: number;
  /** Chance of each message, question and answer to get lost, 0 to 1. */
  readonly loss: number;
}

/** What a node of a devnet is told. */
export interface NodeFaults {
  /** Links with a fault, by the peer port of the other node: all nodes have one address. */
  readonly links: readonly (LinkFaults & { readonly wsPort: number })[];
  /** By how much the chain clock of the node is ahead of the devnet's; less than 0 is behind. */
  readonly skewMs: number;
}

export const NO_FAULTS: NodeFaults = { links: [], skewMs: 0 };

/** As told to the user. */
export interface StandingFaults {
  /** Numbers of nodes that reach one another, part by part; empty while the network is whole. */
  readonly parts: readonly (readonly number[])[];
  /** Nodes with a fault of their own. */
  readonly nodes: readonly NodeFault[];
}

interface NodeFault {
  readonly node: number;
  readonly delayMs: number;
  /** 0 to 1. */
  readonly loss: number;
  readonly skewMs: number;
}

interface Place {
  readonly index: number;
  readonly wsPort: number;
}

/** One amount for all nodes, and others for some of them. */
class PerNode {
  #forAll = 0;
  readonly #own = new Map<number, number>();

  /** @param nodes all of them, also those that come later, when undefined */
  set(amount: number, nodes: readonly number[] | undefined): void {
    if (nodes === undefined) {
      this.#forAll = amount;
      this.#own.clear();
    } else for (const node of nodes) this.#own.set(node, amount);
  }

  of(node: number): number {
    return this.#own.get(node) ?? this.#forAll;
  }
}

export class DevnetFaults {
  readonly #delaysMs = new PerNode();
  readonly #losses = new PerNode();
  readonly #skewsMs = new PerNode();
  #parts: readonly (readonly number[])[] = [];

  /** Cuts the network into parts, in the place of earlier ones. Nodes of no part form one more. */
  partition(parts: readonly (readonly number[])[]): void {
    this.#parts = parts;
  }

  /** @param nodes whose messages are delayed, in both directions; all when undefined */
  delay(delayMs: number, nodes: readonly number[] | undefined): void {
    this.#delaysMs.set(delayMs, nodes);
  }

  /** @param loss 0 to 1 */
  lose(loss: number, nodes: readonly number[] | undefined): void {
    this.#losses.set(loss, nodes);
  }

  skew(node: number, skewMs: number): void {
    this.#skewsMs.set(skewMs, [node]);
  }

  heal(): void {
    this.#parts = [];
    for (const amounts of [this.#delaysMs, this.#losses, this.#skewsMs]) amounts.set(0, undefined);
  }

  /** Nodes of one part have the same answer. */
  partOf(node: number): number {
    return this.#parts.findIndex((part) => part.includes(node));
  }

  /** The faults that a node is told of. A link has the greater delay and loss of its two nodes. */
  of(index: number, nodes: readonly Place[]): NodeFaults {
    const links = nodes
      .filter((other) => other.index !== index)
      .map((other) => ({
        wsPort: other.wsPort,
        isCut: this.partOf(index) !== this.partOf(other.index),
        delayMs: Math.max(this.#delaysMs.of(index), this.#delaysMs.of(other.index)),
        loss: Math.max(this.#losses.of(index), this.#losses.of(other.index)),
      }))
      .filter(({ isCut, delayMs, loss }) => isCut || delayMs > 0 || loss > 0);
    return { links, skewMs: this.#skewsMs.of(index) };
  }

  /** @param nodes numbers of all nodes */
  standing(nodes: readonly number[]): StandingFaults {
    const rest = nodes.filter((node) => this.partOf(node) === -1);
    const parts = this.#parts.length === 0 || rest.length === 0 ? this.#parts : [...this.#parts, rest];
    const each = nodes.map((node) => ({
      node,
      delayMs: this.#delaysMs.of(node),
      loss: this.#losses.of(node),
      skewMs: this.#skewsMs.of(node),
    }));
    return { parts, nodes: each.filter(({ delayMs, loss, skewMs }) => delayMs > 0 || loss > 0 || skewMs !== 0) };
  }
}
