/** Worlds for tests of two nodes on which the same delegates are enabled by mistake. */

import { Load } from './load.ts';
import { World, type WorldOptions } from './world.ts';

export const BLOCK_TIME_S = 10;

export const networkOf = (generation: 2 | 3) =>
  ({ generation, delegateListRoundOffset: generation === 2 ? 0 : 2, blockTimeS: BLOCK_TIME_S }) as const;

/**
 * Creates a world in which random nodes receive transfers. If two nodes sign blocks for the same slot, the blocks
 * therefore usually contain different transfers, and have different ids.
 */
export function worldOf(generation: 2 | 3, options: Partial<WorldOptions>): World {
  const world = new World({
    seed: 3,
    nodes: 3,
    network: networkOf(generation),
    riskDoubleForgingOf: () => false,
    ...options,
  });
  new Load(world).startTransfers(0.3);
  return world;
}

export const slots = (world: World, count: number): Promise<void> => world.run(count * BLOCK_TIME_S);
