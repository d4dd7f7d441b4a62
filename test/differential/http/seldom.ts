/**
 * Inputs with a known, listed difference. They are rare, so that they confirm the difference without replacing other
 * inputs.
 */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import { pick } from '../mutations.ts';

const ONE_IN = 60;

/** Returns one of the usual values, or rarely one of the listed values. */
export function pickSeldom<T>(listed: readonly T[], usual: readonly T[], below: RandomBelow): T {
  return pick(below(ONE_IN) === 0 ? listed : usual, below);
}
