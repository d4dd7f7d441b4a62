/** The start of a network's time, as its nodes tell it. */

import { members, moment } from '../answer-shapes.ts';
import type { NodeAsker } from '../ask-node.ts';

const CONSTANTS = members({ epoch: moment });

/** Unix time in milliseconds. */
export async function epochMsOf(node: NodeAsker): Promise<number> {
  return Date.parse((await node.ask<{ readonly epoch: string }>('node/constants', CONSTANTS)).epoch);
}
