/**
 * The interop cases, each with a letter. In each case, nodes of lisk-sdk (real nodes) and nodes of this project run in
 * one network. `GROUPS` puts the cases into groups. All cases of one group run in one world: a network and other
 * resources (`world.ts`). Cases (d), (e) and (f) run one after another with the same five nodes. Each of these nodes
 * forges with a part of the delegates.
 */

import type { Generation } from '../../src/protocol/params.ts';
import { MixedNet } from './mixed-net.ts';
import { contact } from './cases/contact.ts';
import { cut } from './cases/cut.ts';
import { follow } from './cases/follow.ts';
import { mixed } from './cases/mixed.ts';
import { restart } from './cases/restart.ts';
import { unsigned } from './cases/unsigned.ts';
import type { World } from './world.ts';

export interface InteropCase {
  readonly letter: string;
  readonly title: string;
  /**
   * @returns the text for the column "figures" in the table of results that `main.ts` prints
   * @throws Error that names the first failed check
   */
  run(): Promise<string>;
}

export type Letter = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g';

export const GROUPS: readonly (readonly Letter[])[] = [['a'], ['b'], ['c'], ['d', 'e', 'f'], ['g']];
export const GENERATIONS: readonly Generation[] = [3, 2];

/** Returns all interop cases with their letters as keys. The cases run in `world` (a network and other resources). */
export function casesIn(world: World): Readonly<Record<Letter, InteropCase>> {
  let net: Promise<MixedNet> | undefined;
  const inNet = (run: (net: MixedNet) => Promise<string>) => async () => run(await (net ??= MixedNet.start(world)));
  const interopCase = (letter: Letter, title: string, run: () => Promise<string>) => ({ letter, title, run });
  return {
    a: interopCase('a', 'each dials the other, both list it and track its node info', () => contact(world)),
    b: interopCase('b', 'the real node forges all, ours follow', () => follow(world, 'real')),
    c: interopCase('c', 'ours forges all, real nodes follow', () => follow(world, 'ours')),
    d: interopCase('d', 'two real nodes and three of ours share the delegates', inNet(mixed)),
    e: interopCase('e', 'one side cut off for thirty blocks, both roles', inNet(cut)),
    f: interopCase('f', 'restarts of either in the middle', inNet(restart)),
    g: interopCase('g', 'transactions that no wallet writes, forged by either', () => unsigned(world)),
  };
}
