/** A kind of input that both sides are asked about. */

import type { Below } from '../fuzz/mutate.ts';
import type { Comparison } from './comparison.ts';

export interface Target {
  readonly name: string;
  /** Makes a case by chance and asks both sides. */
  compare(below: Below): Promise<Comparison>;
  /** Asks both sides about a case that was printed. */
  compareText(input: string): Promise<Comparison>;
}
