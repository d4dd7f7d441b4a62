/**
 * The scenarios by letter, in groups that share a world: (e) and (f) need a chain of some length on which the delegates are
 * split, and (d) leaves one.
 */

import type { Generation } from '../../src/protocol/params.ts';
import { MixedNet } from './mixed-net.ts';
import { contact } from './scenarios/contact.ts';
import { cut } from './scenarios/cut.ts';
import { follow } from './scenarios/follow.ts';
import { mixed } from './scenarios/mixed.ts';
import { restart } from './scenarios/restart.ts';
import { unsigned } from './scenarios/unsigned.ts';
import type { World } from './world.ts';

export interface Scenario {
  readonly letter: string;
  readonly title: string;
  /** @returns figures for the table @throws Error naming the first promise that was broken */
  run(): Promise<string>;
}

export type Letter = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g';

export const GROUPS: readonly (readonly Letter[])[] = [['a'], ['b'], ['c'], ['d', 'e', 'f'], ['g']];
export const GENERATIONS: readonly Generation[] = [3, 2];

/** The scenarios of a group in one world. */
export function scenariosIn(world: World): Readonly<Record<Letter, Scenario>> {
  let net: Promise<MixedNet> | undefined;
  const inNet = (run: (net: MixedNet) => Promise<string>) => async () => run(await (net ??= MixedNet.start(world)));
  const scenario = (letter: Letter, title: string, run: () => Promise<string>) => ({ letter, title, run });
  return {
    a: scenario('a', 'each dials the other, both list it and track its news', () => contact(world)),
    b: scenario('b', 'the real node forges all, ours follow', () => follow(world, 'real')),
    c: scenario('c', 'ours forges all, real nodes follow', () => follow(world, 'ours')),
    d: scenario('d', 'two real nodes and three of ours share the delegates', inNet(mixed)),
    e: scenario('e', 'one side cut off for thirty blocks, both roles', inNet(cut)),
    f: scenario('f', 'restarts of either in the middle', inNet(restart)),
    g: scenario('g', 'transactions that no wallet writes, forged by either', () => unsigned(world)),
  };
}
