/** Creates the rules of a network, for the generation that its parameters name. */

import type { Ed25519 } from '../crypto/ed25519.ts';
import { createGen2Rules } from './gen2/rules.ts';
import { createGen3Rules } from './gen3/rules.ts';
import type { ChainParams } from './params.ts';
import type { Rules } from './rules.ts';

export interface RulesOptions {
  /**
   * The Ed25519 implementation that signs forged blocks and checks the signatures of the transactions in these blocks.
   * The default is the result of `defaultEd25519`.
   */
  readonly ed25519?: Ed25519;
}

export function createRules(params: ChainParams, options: RulesOptions = {}): Rules {
  return params.generation === 2 ? createGen2Rules(params, options) : createGen3Rules(params, options);
}
