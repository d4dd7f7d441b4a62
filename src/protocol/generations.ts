/** The rules of a network, whichever generation it is of. */

import { createGen2Rules } from './gen2/rules.ts';
import { createGen3Rules } from './gen3/rules.ts';
import type { ChainParams } from './params.ts';
import type { Rules } from './rules.ts';

export function createRules(params: ChainParams): Rules {
  return params.generation === 2 ? createGen2Rules(params) : createGen3Rules(params);
}
