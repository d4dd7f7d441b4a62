/** What is known to part the two, and listed: asked for now and then, to see that it stays, and not so often that it crowds out the rest. */

import type { RandomBelow } from '../../fuzz/mutate.ts';
import { pick } from '../mutations.ts';

const ONE_IN = 60;

/** One of the usual values, or, seldom, one of the listed. */
export function pickSeldom<T>(listed: readonly T[], usual: readonly T[], below: RandomBelow): T {
  return pick(below(ONE_IN) === 0 ? listed : usual, below);
}
