/** Counts the reorgs since the start of the node, and stores the latest reorgs for operators. */

import type { Clock } from '../ports/clock.ts';
import type { Reorg } from '../ports/node-api.ts';
import type { Block } from '../protocol/types.ts';

/** Maximum number of stored reorgs. The log of the node has all reorgs (`CHAIN_REORG` and `TIE_BROKEN`). */
const LATEST_MAX = 20;

export class Reorgs {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** The stored reorgs, newest first. */
  #latest: readonly Reorg[] = [];
  #count = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  get latest(): readonly Reorg[] {
    return this.#latest;
  }

  /** @param reverted the blocks that one reorg reverted, in any order */
  record(reverted: readonly Pick<Block, 'height'>[]): void {
    if (reverted.length === 0) return;
    const lowest = reverted.reduce((least, { height }) => Math.min(least, height), Infinity);
    const reorg = { timeMs: this.#clock.nowMs(), commonHeight: lowest - 1, revertedBlocks: reverted.length };
    this.#count += 1;
    this.#latest = [reorg, ...this.#latest].slice(0, LATEST_MAX);
  }
}
