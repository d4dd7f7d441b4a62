/** Waits until the tip of each node of a devnet has at least a given height. */

import type { AgentLink } from '../cli/devnet/messages.ts';
import type { Clock } from '../ports/clock.ts';

export interface HeightWait {
  readonly nodes: readonly (Pick<AgentLink, 'ask'> & { readonly index: number })[];
  readonly isClosed: () => boolean;
  /**
   * The process clock. `waitForHeight` uses this clock to pause between two queries of the tips. The chain clock is
   * unsuitable, because a test can stop the chain clock.
   */
  readonly clock: Clock;
  /** Time limit in milliseconds of real time (not of the chain clock); default `TIMEOUT_MS`. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const POLL_MS = 20;
/** Largest possible height. A block stores its height as an unsigned number of 32 bits. */
const HEIGHT_MAX = 2 ** 32 - 1;

/**
 * @throws RangeError for an invalid height or time limit; Error when the time limit is reached or the devnet is closed
 */
export async function waitForHeight(height: number, wait: HeightWait): Promise<void> {
  const { nodes, isClosed, clock, timeoutMs = TIMEOUT_MS } = wait;
  if (!Number.isInteger(height) || height < 1 || height > HEIGHT_MAX) {
    throw new RangeError(`the height must be an integer from 1 to ${HEIGHT_MAX}`);
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
    throw new RangeError('timeoutMs must be a number of milliseconds from 0 on');
  }
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    if (isClosed()) throw new Error(`the devnet is closed: it does not reach height ${height}`);
    const heights = await Promise.all(nodes.map(async (node) => (await node.ask({ op: 'state' })).tip.height));
    if (heights.every((each) => each >= height)) return;
    if (performance.now() >= endMs) throw late(height, timeoutMs, nodes, heights);
    await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
  }
}

function late(height: number, timeoutMs: number, nodes: HeightWait['nodes'], heights: readonly number[]): Error {
  const places = nodes.map(({ index }, position) => `node ${index} is at ${heights[position]}`).join(', ');
  return new Error(`not all nodes have height ${height} after ${timeoutMs} ms: ${places}`);
}
