/** Checks that a sink was made for the chain that is to be written into it. */

import { ProtocolError } from '../primitives/errors.ts';
import type { SinkIdentity } from './sink.ts';

const NAMES: Readonly<Record<keyof SinkIdentity, string>> = {
  network: 'network',
  generation: 'generation',
  genesisBlockId: 'genesis block',
  rangeBlocks: 'blocks of a range',
};

/**
 * @returns the error for a sink that was made with another identity; undefined when the identities are equal
 */
export function identityFault(made: SinkIdentity, wanted: SinkIdentity): ProtocolError | undefined {
  const name = (Object.keys(NAMES) as (keyof SinkIdentity)[]).find((each) => made[each] !== wanted[each]);
  if (name === undefined) return undefined;
  return new ProtocolError(
    'SINK_OF_OTHER_CHAIN',
    { made, wanted },
    `the sink was made with ${NAMES[name]} ${made[name]}, and not ${wanted[name]}: name another sink, or the chain that it was ` +
      'made for',
  );
}
