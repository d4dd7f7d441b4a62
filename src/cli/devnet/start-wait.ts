/** Commands that a devnet gets while it starts: its clock and blocks are asked for when all nodes have been up. */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ControlOperation } from './control-server.ts';

export interface DevnetStart {
  /** Whether the clock stands where the chain does. */
  readonly hasBegun: () => boolean;
  /** Numbers of the nodes that have not been up yet. */
  readonly missing: () => readonly number[];
  readonly clock: Clock;
  /** Milliseconds; default 60,000: a start takes three seconds, on a machine that is busy many times as long. */
  readonly waitMsMax?: number;
}

/** They move the clock or the chain, or keep them. Nodes can be stopped and faults set in the midst of a start. */
const WAITING = ['mine', 'mode', 'warp', 'freeze', 'resume', 'snapshot', 'revert', 'fund', 'impersonate'];
const WAIT_MS_MAX = 60_000;
const POLL_MS = 50;

/**
 * Has the operations that need a clock wait until the devnet has begun. Before that its clock is the machine's: blocks of a chain
 * that was warped ahead lie in the future of it.
 *
 * They throw ProtocolError `DEVNET_STARTING`, which names the nodes that are missing, when that takes too long
 */
export function afterStart(
  operations: ReadonlyMap<string, ControlOperation>,
  start: DevnetStart,
): ReadonlyMap<string, ControlOperation> {
  const waiting = (operation: ControlOperation): ControlOperation => {
    return async (parameters) => {
      // Of a single node.
      if (parameters['node'] === undefined) await whenBegun(start);
      return operation(parameters);
    };
  };
  return new Map(
    [...operations].map(([name, operation]) => [name, WAITING.includes(name) ? waiting(operation) : operation]),
  );
}

async function whenBegun({ hasBegun, missing, clock, waitMsMax = WAIT_MS_MAX }: DevnetStart): Promise<void> {
  const endMs = clock.nowMs() + waitMsMax;
  while (!hasBegun()) {
    if (clock.nowMs() >= endMs) {
      const nodes = missing().join(', ');
      const reason = nodes === '' ? 'its clock is not set yet' : `not up yet: node ${nodes}`;
      throw new ProtocolError('DEVNET_STARTING', {}, `the devnet is still starting: ${reason}`);
    }
    await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
  }
}
