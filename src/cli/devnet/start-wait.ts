/**
 * Delays operations while a devnet starts: operations that need the devnet's clock or blocks wait until the devnet has
 * begun.
 */

import { ProtocolError } from '../../primitives/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ControlOperation } from './control-server.ts';

export interface DevnetStart {
  /**
   * True when the devnet has begun: all nodes have been ready, and `Timekeeper.begin` has set the devnet's clock
   * forward if the clock was behind the newest block.
   */
  readonly hasBegun: () => boolean;
  /** Returns the numbers of the nodes that have not been ready yet. */
  readonly missing: () => readonly number[];
  readonly clock: Clock;
  /**
   * Longest wait in milliseconds; default 60,000. A start usually takes about three seconds, but takes much longer on a
   * busy machine.
   */
  readonly waitMsMax?: number;
}

/**
 * Operations that need the clock or the blocks of the devnet, and therefore wait. All other operations, for example
 * `kill` and `delay`, also work during a start.
 */
const WAITING = ['mine', 'mode', 'warp', 'freeze', 'resume', 'snapshot', 'revert', 'fund', 'send', 'impersonate'];
const WAIT_MS_MAX = 60_000;
const POLL_MS = 50;

/**
 * Makes the operations in `WAITING` wait until the devnet has begun. Until then, the devnet's clock can be behind the
 * newest block, so the operations cannot use this clock. The clock is behind, for example, if an earlier run mined
 * ahead of the machine's clock, and then ended before it wrote its clock setting to the devnet's folder.
 *
 * If the devnet has not begun after `waitMsMax`, the operations throw ProtocolError `DEVNET_STARTING`. The message of
 * the error names the nodes that have not been ready yet.
 */
export function afterStart(
  operations: ReadonlyMap<string, ControlOperation>,
  start: DevnetStart,
): ReadonlyMap<string, ControlOperation> {
  const waiting = (operation: ControlOperation): ControlOperation => {
    return async (parameters) => {
      // With the parameter `node`, `resume` lets a paused node continue. In this case, `resume` does not use the clock
      // of the devnet, so the operation need not wait.
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
