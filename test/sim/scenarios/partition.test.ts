/** Networks that fall apart and come together again. */

import test from 'ava';

import type { KeyPair } from '../../../src/protocol/types.ts';
import { Scenario } from '../scenario.ts';

/** Deals the delegates in runs: so many to the first node, and so on. */
function dealt(...counts: readonly number[]) {
  return (node: number, delegates: readonly KeyPair[]): readonly KeyPair[] => {
    const from = counts.slice(0, node).reduce((sum, count) => sum + count, 0);
    return delegates.slice(from, from + counts[node]!);
  };
}

test('two halves that were apart for 30 minutes end on one chain, and nothing was final on either', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4 });
  await scenario.slots(30);
  const before = scenario.node(0).tip.height;
  scenario.world.partition([
    [0, 1],
    [2, 3],
  ]);
  await scenario.slots(180);
  t.true(scenario.apart(0, 1) <= 1);
  t.true(scenario.apart(0, 2) > 60);
  t.true(scenario.finalized(0) <= before && scenario.finalized(2) <= before);
  scenario.world.wire.heal();
  t.true((await scenario.meet()) <= 6);
  t.true(scenario.said('CHAIN_SWITCHED') >= 2);
});

test('of 40 and 61 delegates apart, the 40 come over, and both go on to finalize what they share', async (t) => {
  const scenario = await Scenario.begin({ nodes: 2, forgersOf: dealt(40, 61) });
  await scenario.slots(250);
  const before = scenario.finalized(1);
  const split = scenario.node(1).tip.height;
  scenario.world.partition([[0], [1]]);
  await scenario.slots(150);
  // Sixty-one precommits and those from before are enough for blocks from before, never for one of their own.
  t.true(scenario.finalized(1) > before && scenario.finalized(1) <= split);
  const longer = scenario.node(1).tip;
  scenario.world.wire.heal();
  await scenario.meet();
  t.is(scenario.node(0).store.heightOf(longer.id), longer.height);
});

test('68 delegates finalize without the other 33, who come over when they can', async (t) => {
  const scenario = await Scenario.begin({ nodes: 2, forgersOf: dealt(33, 68) });
  await scenario.slots(150);
  const split = scenario.node(1).tip.height;
  scenario.world.partition([[0], [1]]);
  await scenario.slots(420);
  t.true(scenario.finalized(1) > split);
  t.true(scenario.finalized(0) <= split);
  const dead = scenario.node(0).tip;
  scenario.world.wire.heal();
  await scenario.meet();
  t.is(scenario.node(0).store.heightOf(dead.id), undefined);
  t.true(scenario.finalized(0) > split);
});

test('a node that forged a dead branch of 150 blocks comes back by itself', async (t) => {
  const scenario = await Scenario.begin({ nodes: 3, forgersOf: dealt(35, 35, 31) });
  await scenario.slots(20);
  scenario.world.partition([[0, 1], [2]]);
  await scenario.slots(490);
  t.true(scenario.apart(0, 2) > 300);
  t.true(scenario.node(2).tip.height - 20 >= 149);
  scenario.world.wire.heal();
  t.true((await scenario.meet()) <= 6);
});

test('two halves that were apart for six hours, without finality all the time, meet as soon as those apart for a minute', async (t) => {
  const scenario = await Scenario.begin({ nodes: 2, forgersOf: dealt(50, 51) });
  await scenario.slots(20);
  scenario.world.partition([[0], [1]]);
  await scenario.slots(2200);
  t.true(scenario.apart() > 1050);
  scenario.world.wire.heal();
  t.true((await scenario.meet()) <= 6);
  t.is(scenario.said('CHAIN_SWITCHED'), 1);
});

test('a quiet network brings a late node up to date though nobody sends a block', async (t) => {
  const scenario = await Scenario.begin({ nodes: 3, forgersOf: dealt(101, 0, 0) });
  scenario.node(2).crash();
  await scenario.slots(40);
  for (const keyPair of scenario.node(0).keys) {
    scenario.node(0).engine.forging.disable(Buffer.from(keyPair.publicKey).toString('hex'));
  }
  await scenario.node(2).start();
  await scenario.meet(2);
  t.true(scenario.node(2).tip.height > 35);
});
