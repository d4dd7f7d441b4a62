/**
 * Picks inputs that cause a known difference. These inputs are rare, so that they confirm the difference while most of
 * the comparison covers other inputs.
 */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import { pick } from '../mutations.ts';

const ONE_IN = 60;

/** Returns a usual value, or rarely a listed value, which causes a known difference. */
export function pickSeldom<T>(listed: readonly T[], usual: readonly T[], below: RandomBelow): T {
  return pick(below(ONE_IN) === 0 ? listed : usual, below);
}
