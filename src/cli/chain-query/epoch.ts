/** Reads the epoch of a network from a node or from a data folder. */

import { members, moment } from '../answer-shapes.ts';
import type { Source } from './chain-source.ts';

const CONSTANTS = members({ epoch: moment });

/** Returns the epoch of the network of the source, as Unix time in milliseconds. */
export async function epochMsOf(source: Source): Promise<number> {
  return Date.parse((await source.ask<{ readonly epoch: string }>('node/constants', CONSTANTS)).epoch);
}
