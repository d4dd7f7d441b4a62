/**
 * Picks an input. About one picked input in `ONE_IN` causes a known difference. These few inputs confirm the
 * difference, while most of the comparison covers other inputs.
 */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import { pick } from '../mutations.ts';

const ONE_IN = 60;

/** Returns a value of `usual`, or rarely a value of `listed`, which causes a known difference. */
export function pickSeldom<T>(listed: readonly T[], usual: readonly T[], below: RandomBelow): T {
  return pick(below(ONE_IN) === 0 ? listed : usual, below);
}
