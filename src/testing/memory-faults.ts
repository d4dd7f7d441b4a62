/** Sets delays and losses of messages, and clock offsets of nodes, in a devnet that runs in the caller's process. */

import { DELAY_MS_MAX, delayMsOfText, lossOfText, SKEW_MS_MAX, skewMsOfText } from '../cli/devnet/parse-faults.ts';
import { DevnetFaults } from '../cli/devnet/faults.ts';
import type { MemoryNode } from './memory-node.ts';

export class MemoryFaults {
  readonly #nodes: () => readonly MemoryNode[];
  readonly #faults = new DevnetFaults();

  constructor(nodes: () => readonly MemoryNode[]) {
    this.#nodes = nodes;
  }

  /**
   * @throws ProtocolError `USAGE` if the delay is an invalid text
   * @throws RangeError if the delay is a number outside of 0 to `DELAY_MS_MAX`, or if a node does not exist
   */
  delay(by: string | number, nodes: readonly number[] | undefined): Promise<void> {
    const delayMs =
      typeof by === 'string' ? delayMsOfText(by) : within(by, 0, DELAY_MS_MAX, 'the delay in milliseconds');
    this.#faults.delay(delayMs, this.#checked(nodes));
    return this.#sendFaults();
  }

  /**
   * @throws ProtocolError `USAGE` if the share is an invalid text
   * @throws RangeError if the share is a number outside of 0 to 1, or if a node does not exist
   */
  lose(share: string | number, nodes: readonly number[] | undefined): Promise<void> {
    const loss = typeof share === 'string' ? lossOfText(share) : within(share, 0, 1, 'the share of messages');
    this.#faults.lose(loss, this.#checked(nodes));
    return this.#sendFaults();
  }

  /**
   * @throws ProtocolError `USAGE` if the clock offset is an invalid text
   * @throws RangeError if the clock offset is a number outside of `-SKEW_MS_MAX` to `SKEW_MS_MAX`, or if the node does
   *   not exist
   */
  skew(node: number, by: string | number): Promise<void> {
    const words = 'the distance of the clock in milliseconds';
    const skewMs = typeof by === 'string' ? skewMsOfText(by) : within(by, -SKEW_MS_MAX, SKEW_MS_MAX, words);
    this.#checked([node]);
    this.#faults.skew(node, Math.round(skewMs));
    return this.#sendFaults();
  }

  heal(): Promise<void> {
    this.#faults.heal();
    return this.#sendFaults();
  }

  async #sendFaults(): Promise<void> {
    const nodes = this.#nodes();
    const places = nodes.map(({ index, address }) => ({ index, wsPort: address.wsPort }));
    await Promise.all(nodes.map((node) => node.ask({ op: 'faults', faults: this.#faults.of(node.index, places) })));
  }

  #checked(indexes: readonly number[] | undefined): readonly number[] | undefined {
    const last = this.#nodes().length - 1;
    const wrong = indexes?.find((index) => !Number.isInteger(index) || index < 0 || index > last);
    if (wrong !== undefined) throw new RangeError(`there is no node ${wrong}: the last one is ${last}`);
    return indexes;
  }
}

function within(value: number, least: number, most: number, what: string): number {
  if (value >= least && value <= most) return value;
  throw new RangeError(`${what} must be a number from ${least} to ${most}`);
}
