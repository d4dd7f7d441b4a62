/** Bringing nodes to rest on one tip, so that they can be compared. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Tip } from './http.ts';
import type { InteropNode } from './nodes.ts';
import { untilSameTip } from './waiting.ts';

const ATTEMPTS_MAX = 4;
const TIP_MS_MAX = 20_000;
/** Some blocks more, for those who missed the last one. */
const GO_ON_MS = 10_000;

/**
 * Stops forging until all have the same tip. A node of the reference that was busy with synchronising when the last block came
 * only learns of it by the next one, so then the others go on for a while and rest again.
 *
 * @param setForging switches all delegates of all nodes
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
