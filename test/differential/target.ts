/** A kind of input for which a run compares this node with the reference (lisk-sdk). */

import type { RandomBelow } from '../fuzz/mutate.ts';
import type { Comparison } from './comparison.ts';

export interface Target {
  readonly name: string;
  /** Share of this target in all cases, relative to the other targets. The default is 1. */
  readonly weight?: number;
  /**
   * Maximum number of cases that run at the same time. A value above 1 requires that no case changes the result of
   * another case. The default is 1.
   */
  readonly concurrency?: number;
  /** Makes a random case synchronously, then runs the case on this node and on the reference (lisk-sdk). */
  compare(below: RandomBelow): Promise<Comparison>;
  /**
   * Runs a case on this node and on the reference (lisk-sdk). `input` is the case in the form in which a run prints it.
   */
  compareText(input: string): Promise<Comparison>;
}
