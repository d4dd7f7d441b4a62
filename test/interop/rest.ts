/** Makes nodes stop forging at the same tip, so that a test can compare their answers. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Tip } from './http.ts';
import type { InteropNode } from './nodes.ts';
import { untilSameTip } from './waiting.ts';

const ATTEMPTS_MAX = 4;
const TIP_MS_MAX = 20_000;
/**
 * If the nodes do not reach the same tip, they forge again for this time before the next attempt. A node that missed a
 * block gets this block together with the next blocks.
 */
const GO_ON_MS = 10_000;

/**
 * Stops forging, and resolves with the tip when all nodes have the same tip. If a real node (of lisk-sdk) is syncing
 * when forging stops, it sometimes does not receive the last block. It then receives this block only after the nodes
 * have forged the next block. If the nodes do not have the same tip after 20 s, all nodes forge for ten seconds and
 * stop again. After four attempts, the function throws.
 *
 * @param setForging switches the forging of all delegates on or off, on all nodes
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
