/**
 * Checks the simulated faults (partitions, delays, losses and clock offsets) that a user sets on a running devnet, and
 * sends the faults to the nodes.
 */

import { usageError } from '../error-lines.ts';
import { DELAY_MS_MAX, SKEW_MS_MAX } from './parse-faults.ts';
import { DevnetFaults, type NodeFaults, type ActiveFaults } from './faults.ts';
import type { AgentLink } from './messages.ts';
import type { SupervisedNode } from './supervised-node.ts';
import type { Timekeeper } from './timekeeper.ts';

export interface FaultControlParts {
  /** All nodes of the devnet, including nodes that do not run. */
  readonly nodes: () => readonly Pick<SupervisedNode, 'node' | 'process' | 'stateName'>[];
  readonly timekeeper: Timekeeper;
}

export class FaultControl {
  readonly #parts: FaultControlParts;
  readonly #faults = new DevnetFaults();

  constructor(parts: FaultControlParts) {
    this.#parts = parts;
  }

  /**
   * Cuts the links between the listed groups of nodes (parts of the network), and ends an earlier partition. All nodes
   * that are in no list form one further part.
   *
   * @param parts for each part of the network, a list of node numbers
   * @throws ProtocolError `USAGE` for an unknown node, a node that is listed twice, an empty part, or a single part
   *   that contains all nodes
   */
  partition(parts: unknown): Promise<ActiveFaults> {
    const lists: readonly unknown[] = Array.isArray(parts) ? parts : [parts];
    const named = lists.map((part) => this.#checkedNodes(part));
    const all = named.flat();
    const twice = all.find((node, position) => all.indexOf(node) !== position);
    if (twice !== undefined) throw usageError(`node ${twice} is listed twice: a node can be in one part only`);
    if (named.length < 2 && all.length === this.#numbers().length) {
      throw usageError('one part of all nodes cuts nothing: name two parts, or end a partition with heal');
    }
    return this.#change(() => this.#faults.partition(named));
  }

  /**
   * @param delayMs delay in milliseconds, from 0 to `DELAY_MS_MAX`
   * @param nodes numbers of the nodes whose links are slow; undefined for all nodes
   * @throws ProtocolError `USAGE` for an invalid delay or an unknown node
   */
  delay(delayMs: unknown, nodes: unknown): Promise<ActiveFaults> {
    const ms = within(delayMs, 0, DELAY_MS_MAX, 'the delay must be a number of milliseconds');
    const named = nodes === undefined ? undefined : this.#checkedNodes(nodes);
    return this.#change(() => this.#faults.delay(ms, named));
  }

  /**
   * @param loss probability that a link loses a message, from 0 to 1
   * @param nodes numbers of the nodes whose links lose messages; undefined for all nodes
   * @throws ProtocolError `USAGE` for an invalid loss or an unknown node
   */
  lose(loss: unknown, nodes: unknown): Promise<ActiveFaults> {
    const share = within(loss, 0, 1, 'the loss must be a share');
    const named = nodes === undefined ? undefined : this.#checkedNodes(nodes);
    return this.#change(() => this.#faults.lose(share, named));
  }

  /**
   * @param skewMs offset of the node's clock from the clock of the devnet; negative if the node's clock is behind the
   *   clock of the devnet
   * @throws ProtocolError `USAGE` for an unknown node, or an offset that is not a number or is longer than a day
   */
  skew(node: unknown, skewMs: unknown): Promise<ActiveFaults> {
    const [index = 0] = this.#checkedNodes([node]);
    const ms = within(skewMs, -SKEW_MS_MAX, SKEW_MS_MAX, 'the distance of the clock must be a number of milliseconds');
    return this.#change(() => this.#faults.skew(index, Math.round(ms)));
  }

  /** Ends the partition, delays, losses and clock offsets. */
  heal(): Promise<ActiveFaults> {
    return this.#change(() => this.#faults.heal());
  }

  active(): ActiveFaults {
    return this.#faults.active(this.#numbers());
  }

  /**
   * Returns a value that identifies the part of the partitioned network to which the node belongs. Nodes of the same
   * part get equal values. A node whose process has ended counts as a node that `partition` did not name.
   */
  partOf(link: AgentLink): unknown {
    const index = this.#parts.nodes().find(({ process }) => process?.link === link)?.node.index;
    return this.#faults.partOf(index ?? -1);
  }

  /** Returns the faults of a node, in the form that the agent of the node (`node-agent.ts`) receives. */
  of(index: number): NodeFaults {
    return this.#faults.of(
      index,
      this.#parts.nodes().map(({ node }) => node),
    );
  }

  /**
   * Sends the active faults to all running nodes. A node that does not answer gets the faults later, when it answers
   * again.
   */
  async sendFaults(): Promise<void> {
    await Promise.allSettled(
      this.#parts.nodes().flatMap(({ node, process, stateName }) => {
        const link = stateName === 'running' ? process?.link : undefined;
        return link?.isUsable === true ? [link.ask({ op: 'faults', faults: this.of(node.index) })] : [];
      }),
    );
  }

  /**
   * Changes the faults and sends them to the nodes. The serial queue of the timekeeper runs the change, so that no
   * request to forge runs during the change.
   */
  #change(change: () => void): Promise<ActiveFaults> {
    return this.#parts.timekeeper.exclusively(async () => {
      change();
      await this.sendFaults();
      return this.active();
    });
  }

  #numbers(): readonly number[] {
    return this.#parts.nodes().map(({ node }) => node.index);
  }

  #checkedNodes(value: unknown): readonly number[] {
    const known = this.#numbers();
    if (!Array.isArray(value) || value.length === 0) throw usageError('numbers of nodes are missing');
    return value.map((node: unknown) => {
      const found = known.find((each) => each === node);
      if (found === undefined)
        throw usageError(`there is no node ${String(node)}: the last one is ${known.length - 1}`);
      return found;
    });
  }
}

function within(value: unknown, least: number, most: number, sentence: string): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw usageError(`${sentence} from ${least} to ${most}`);
}
