/** Active simulated faults of a running devnet, and their effects on each node. */

/** Faults of the link between a node and one of its peers. */
export interface LinkFaults {
  /** True if the link passes no message. Existing connections stay open, and new dials fail. */
  readonly isCut: boolean;
  /** Delay of each message, request and answer, in milliseconds. A request and its answer are delayed separately. */
  readonly delayMs: number;
  /** Probability from 0 to 1 that a message, request or answer is lost. */
  readonly loss: number;
}

/** Faults of one node, in the form that the node receives. */
export interface NodeFaults {
  /**
   * Links of the node that have a fault. The P2P port identifies the node at the other end, because all nodes have the
   * same IP address.
   */
  readonly links: readonly (LinkFaults & { readonly wsPort: number })[];
  /**
   * Offset of the node's chain clock from the clock of the devnet, in milliseconds; negative if the node's clock is
   * behind the clock of the devnet.
   */
  readonly skewMs: number;
}

export const NO_FAULTS: NodeFaults = { links: [], skewMs: 0 };

/** Active faults, in the form that the user sees. */
export interface ActiveFaults {
  /** For each part of the network, the numbers of its nodes; empty while the network is not partitioned. */
  readonly parts: readonly (readonly number[])[];
  /** Nodes with delays, losses or a clock offset. */
  readonly nodes: readonly NodeFault[];
}

interface NodeFault {
  readonly node: number;
  readonly delayMs: number;
  /** Probability from 0 to 1 that a message of the node is lost. */
  readonly loss: number;
  readonly skewMs: number;
}

interface NodePort {
  readonly index: number;
  readonly wsPort: number;
}

/**
 * Stores a number for each node. The number of a node comes from the last call of `set` for this node or for all nodes.
 * Before such a call, the number is 0.
 */
class PerNode {
  #forAll = 0;
  readonly #own = new Map<number, number>();

  /**
   * @param nodes undefined for all nodes, including nodes that are added later
   */
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

  /**
   * Cuts the links between the listed groups of nodes (parts of the network), and ends an earlier partition. All nodes
   * that are in no list form one further part.
   */
  partition(parts: readonly (readonly number[])[]): void {
    this.#parts = parts;
  }

  /**
   * @param nodes nodes whose links delay messages, in both directions; undefined for all nodes, including nodes that
   *   are added later
   */
  delay(delayMs: number, nodes: readonly number[] | undefined): void {
    this.#delaysMs.set(delayMs, nodes);
  }

  /**
   * @param loss probability that a link loses a message, from 0 to 1
   * @param nodes nodes whose links lose messages, in both directions; undefined for all nodes, including nodes that are
   *   added later
   */
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

  /**
   * Returns the index of the part to which a node belongs. For a node in none of the parts of `partition`, returns -1.
   */
  partOf(node: number): number {
    return this.#parts.findIndex((part) => part.includes(node));
  }

  /**
   * Returns the faults of a node. If the two nodes of a link have different delays, the link has the greater delay. If
   * the two nodes have different losses, the link has the greater loss.
   */
  of(index: number, nodes: readonly NodePort[]): NodeFaults {
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
  active(nodes: readonly number[]): ActiveFaults {
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
