/** Counts how often the node has reverted blocks since its start, and stores the latest reverts for operators. */

import type { Clock } from '../ports/clock.ts';
import type { BranchChange } from '../ports/node-api.ts';
import type { Block } from '../protocol/types.ts';

/** Maximum number of stored reverts. The log of the node has all reverts. */
const LATEST_MAX = 20;

export class BranchChanges {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Newest first. */
  #latest: readonly BranchChange[] = [];
  #count = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  get latest(): readonly BranchChange[] {
    return this.#latest;
  }

  /** @param reverted blocks that were reverted as one unit, in any order */
  record(reverted: readonly Pick<Block, 'height'>[]): void {
    if (reverted.length === 0) return;
    const lowest = reverted.reduce((least, { height }) => Math.min(least, height), Infinity);
    const change = { timeMs: this.#clock.nowMs(), commonHeight: lowest - 1, revertedBlocks: reverted.length };
    this.#count += 1;
    this.#latest = [change, ...this.#latest].slice(0, LATEST_MAX);
  }
}
