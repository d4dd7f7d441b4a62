/**
 * A simulated world in which a test causes the events, instead of a random plan. While `slots` runs, a `Watch` checks
 * the guarantees of the nodes after every event.
 */

import { checkTables, disagreement, PromiseBroken, Watch } from './checks.ts';
import { MEET_SLOTS_MAX } from './run.ts';
import type { SimNode } from './node.ts';
import { World, type WorldOptions } from './world.ts';

export class ScriptedWorld {
  readonly world: World;
  readonly #watch: Watch;

  private constructor(world: World) {
    this.world = world;
    this.#watch = new Watch(world);
  }

  /** Creates a world and starts all its nodes. By default, a slot lasts ten seconds. */
  static async begin(options: Omit<WorldOptions, 'seed'> & { readonly seed?: number }): Promise<ScriptedWorld> {
    const scripted = new ScriptedWorld(
      new World({ seed: 1, ...options, network: { blockTimeS: 10, ...options.network } }),
    );
    await scripted.world.startAll();
    // Run for half a slot. Each later call of `slots` then ends in the middle of a slot, when the block of this slot
    // has reached all nodes.
    await scripted.world.run(scripted.world.slotMs / 2000);
    return scripted;
  }

  node(index: number): SimNode {
    return this.world.node(index);
  }

  async slots(count: number): Promise<void> {
    await this.world.run((count * this.world.slotMs) / 1000, () => this.#watch.look());
  }

  /**
   * Returns the distance between the highest tip of the given nodes and the last block that all these nodes have in
   * common, in blocks. Without arguments, compares all honest nodes.
   */
  apart(...indexes: number[]): number {
    return disagreement(indexes.length === 0 ? this.world.honest : indexes.map((index) => this.node(index)));
  }

  /**
   * Runs the world, slot by slot, until all honest nodes have the same tip.
   *
   * @returns number of slots that this took
   * @throws PromiseBroken if the nodes still have different tips after `slotsMax` slots
   */
  async meet(slotsMax = MEET_SLOTS_MAX): Promise<number> {
    for (let slot = 1; slot <= slotsMax; slot += 1) {
      await this.slots(1);
      if (this.apart() > 0) continue;
      checkTables(this.world.honest);
      return slot;
    }
    const tips = this.world.honest.map(({ index, tip }) => ({ node: index, height: tip.height, id: tip.id }));
    throw new PromiseBroken('the nodes meet', { slotsMax, tips });
  }

  finalized(index: number): number {
    return this.node(index).engine.chain.finalizedHeight;
  }

  /**
   * Returns the number of log lines with this code, from all nodes or from the node `index`. The count for one node
   * includes only lines that the world still stores. The world stores only the newest lines, and no lines of the levels
   * `trace` and `debug`.
   */
  countOf(code: string, index?: number): number {
    if (index === undefined) return this.world.counts.get(code) ?? 0;
    return this.world.lines.filter((line) => line.node === index && line.code === code).length;
  }
}
