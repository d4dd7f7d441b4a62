/** Delegates that sign twice, by intent or by mistake. */

import test from 'ava';

import { Load } from '../load.ts';
import { Scenario } from '../scenario.ts';

test('a quarter of the delegates signing two blocks each neither splits the others nor stops finality', async (t) => {
  const scenario = await Scenario.begin({
    nodes: 4,
    misbehaviourOf: (node) => (node === 3 ? 'doubleForger' : undefined),
  });
  let farthest = 0;
  for (let slot = 0; slot < 330; slot += 1) {
    await scenario.slots(1);
    farthest = Math.max(farthest, scenario.apart());
  }
  t.true(scenario.said('BLOCK_DOUBLE_FORGING') > 10);
  t.true(farthest <= 6, `${farthest} blocks apart`);
  t.true(scenario.finalized(0) > 60, `finalized ${scenario.finalized(0)}`);
});

test('two nodes with the same delegate keys end on one chain as the others do', async (t) => {
  const scenario = await Scenario.begin({
    nodes: 4,
    forgersOf: (node, delegates) =>
      delegates.filter((_, index) => index % 4 === node || (node === 0 && index % 12 === 1)),
  });
  // Without transactions their blocks would be equal.
  new Load(scenario.world).start(4000);
  let farthest = 0;
  for (let slot = 0; slot < 330; slot += 1) {
    await scenario.slots(1);
    farthest = Math.max(farthest, scenario.apart());
  }
  t.true(scenario.said('BLOCK_DOUBLE_FORGING') > 0);
  t.true(farthest <= 4, `${farthest} blocks apart`);
  t.true(scenario.finalized(0) > 60, `finalized ${scenario.finalized(0)}`);
});

test('one who holds his blocks back gains a few blocks for a while and nobody is left behind', async (t) => {
  const scenario = await Scenario.begin({
    nodes: 4,
    misbehaviourOf: (node) => (node === 3 ? 'withholder' : undefined),
  });
  await scenario.slots(330);
  await scenario.meet();
  t.true(scenario.finalized(0) > 60, `finalized ${scenario.finalized(0)}`);
});
