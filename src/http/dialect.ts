/** Which generation's words the interface speaks. */

import type { Generation } from '../protocol/params.ts';

export interface Dialect {
  readonly generation: Generation;
  /**
   * True refuses what only the other generation knows (sort names, peer states), as a node of that generation did;
   * false takes both spellings.
   */
  readonly strict: boolean;
}
