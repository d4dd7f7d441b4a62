/**
 * A world that follows the script of a test instead of the random plan of a seed. After every event, a `Watch` checks
 * the world.
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

  /** Starts a world. The default slot time is ten seconds. */
  static async begin(options: Omit<WorldOptions, 'seed'> & { readonly seed?: number }): Promise<ScriptedWorld> {
    const scripted = new ScriptedWorld(
      new World({ seed: 1, ...options, network: { blockTimeS: 10, ...options.network } }),
    );
    await scripted.world.startAll();
    // Scripts continue in the middle of slots, after the block of the slot has reached all nodes.
    await scripted.world.run(scripted.world.slotMs / 2000);
    return scripted;
  }

  node(index: number): SimNode {
    return this.world.node(index);
  }

  async slots(count: number): Promise<void> {
    await this.world.run((count * this.world.slotMs) / 1000, () => this.#watch.look());
  }

  /** Number of blocks by which the chains of the given nodes differ; default: all honest nodes. */
  apart(...indexes: number[]): number {
    return disagreement(indexes.length === 0 ? this.world.honest : indexes.map((index) => this.node(index)));
  }

  /** Waits until all honest nodes are on one chain. @returns the number of slots until then */
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
   * Counts the log lines with this code. For one node, the method counts only the newest lines, which the world keeps,
   * and no lines of the levels `trace` and `debug`.
   */
  countOf(code: string, index?: number): number {
    if (index === undefined) return this.world.counts.get(code) ?? 0;
    return this.world.lines.filter((line) => line.node === index && line.code === code).length;
  }
}
