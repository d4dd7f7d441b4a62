/** Checks that a sink has the chain and the size of ranges that a command expects. */

import { ProtocolError } from '../primitives/errors.ts';
import type { SinkIdentity } from './sink.ts';

const NAMES: Readonly<Record<keyof SinkIdentity, string>> = {
  network: 'network',
  generation: 'generation',
  genesisBlockId: 'genesis block',
  rangeBlocks: 'blocks of a range',
};

/**
 * @param sink name of the sink in error messages, for example `the database chain`
 * @param made identity with which the sink was created
 * @returns an error with code `SINK_OF_OTHER_CHAIN` whose message names the first member in which `made` and `wanted`
 *   differ; undefined if they are equal
 */
export function identityFault(sink: string, made: SinkIdentity, wanted: SinkIdentity): ProtocolError | undefined {
  const name = (Object.keys(NAMES) as (keyof SinkIdentity)[]).find((each) => made[each] !== wanted[each]);
  if (name === undefined) return undefined;
  const [had, given] = [made[name], wanted[name]];
  const message =
    name === 'rangeBlocks'
      ? `${sink} was created with --range-blocks ${had}, and not ${given}: start the command with --range-blocks ${had}, or name ` +
        'another sink'
      : `${sink} was created with ${NAMES[name]} ${had}, and not ${given}: name another sink, or the chain for which it was created`;
  return new ProtocolError('SINK_OF_OTHER_CHAIN', { sink, made, wanted }, message);
}
