/** A kind of input that both sides are asked about. */

import type { Below } from '../fuzz/mutate.ts';
import type { Comparison } from './comparison.ts';

export interface Target {
  readonly name: string;
  /** Share of all cases, beside those of the other targets; 1 unless given. */
  readonly weight?: number;
  /** Makes a case by chance and asks both sides. */
  compare(below: Below): Promise<Comparison>;
  /** Asks both sides about a case that was printed. */
  compareText(input: string): Promise<Comparison>;
}
