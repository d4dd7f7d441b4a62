/**
 * Names of the targets: `generation G, ` followed by a kind from the lists of this file. `flags.ts` needs the names
 * before `main.ts` loads the session.
 */

import type { Generation } from '../../src/protocol/params.ts';

const KINDS: Readonly<Record<Generation, readonly string[]>> = {
  2: ['transactions', 'blocks', 'sequences', 'signatures', 'headers', 'older transactions'],
  3: ['transactions', 'blocks', 'sequences', 'signatures', 'headers'],
};
const HTTP_KINDS = ['http queries, strict dialect', 'http queries, extended dialect', 'http submissions'];

/** Names of the targets of a generation, in the order of the comparison. */
export function targetNames(generation: Generation, isHttp: boolean): readonly string[] {
  return (isHttp ? HTTP_KINDS : KINDS[generation]).map((kind) => `generation ${generation}, ${kind}`);
}

/** Lines of the help text that name the targets. */
export const TARGETS_IN_WORDS = [
  `Targets: ${KINDS[3].join(', ')}; in generation 2 also older transactions (types 5 to 7).`,
  `Targets of --http: ${HTTP_KINDS.map((kind) => `"${kind}"`).join(', ')}.`,
].join('\n');
