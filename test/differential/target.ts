/** A kind of input that both sides are asked about. */

import type { RandomBelow } from '../fuzz/mutate.ts';
import type { Comparison } from './comparison.ts';

export interface Target {
  readonly name: string;
  /** Share of all cases, beside those of the other targets; 1 unless given. */
  readonly weight?: number;
  /** Cases that may be asked about at once, where none changes what another finds; 1 unless given. */
  readonly concurrency?: number;
  /** Makes a case by chance, before it returns, and asks both sides. */
  compare(below: RandomBelow): Promise<Comparison>;
  /** Asks both sides about a case that was printed. */
  compareText(input: string): Promise<Comparison>;
}
