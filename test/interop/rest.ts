/** Makes nodes stop at the same tip, so that they can be compared. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Tip } from './http.ts';
import type { InteropNode } from './nodes.ts';
import { untilSameTip } from './waiting.ts';

const ATTEMPTS_MAX = 4;
const TIP_MS_MAX = 20_000;
/** Time in which the nodes forge further blocks, so that a node that missed the last block gets it. */
const GO_ON_MS = 10_000;

/**
 * Stops forging, and waits until all nodes have the same tip. A reference node that syncs while the last block arrives
 * learns of that block only from the next one. In that case all nodes forge for a while and stop again.
 *
 * @param setForging enables or disables all delegates of all nodes
 */
export async function restTogether(
  nodes: readonly InteropNode[],
  setForging: (forging: boolean) => Promise<void>,
): Promise<Tip> {
  for (let attempt = 1; ; attempt++) {
    await setForging(false);
    try {
      return await untilSameTip(nodes, TIP_MS_MAX);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      await setForging(true);
      await sleep(GO_ON_MS);
    }
  }
}
