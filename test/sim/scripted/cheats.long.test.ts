/**
 * Tests networks in which some delegates sign two blocks for a slot, because their node is dishonest or because their
 * keys are on two nodes. Also tests a node that withholds its blocks.
 */

import test from 'ava';

import { Load } from '../load.ts';
import { ScriptedWorld } from '../scripted-world.ts';

test('a quarter of the delegates signing two blocks each neither splits the network nor stops finality', async (t) => {
  const scripted = await ScriptedWorld.begin({
    nodes: 4,
    misbehaviourOf: (node) => (node === 3 ? 'doubleForger' : undefined),
  });
  let farthest = 0;
  for (let slot = 0; slot < 330; slot += 1) {
    await scripted.slots(1);
    farthest = Math.max(farthest, scripted.apart());
  }
  t.true(scripted.countOf('BLOCK_DOUBLE_FORGING') > 10);
  t.true(farthest <= 6, `${farthest} blocks apart`);
  t.true(scripted.finalized(0) > 60, `finalized ${scripted.finalized(0)}`);
});

test('two nodes with the same delegate keys end on one chain with all others', async (t) => {
  const scripted = await ScriptedWorld.begin({
    nodes: 4,
    forgersOf: (node, delegates) =>
      delegates.filter((_, index) => index % 4 === node || (node === 0 && index % 12 === 1)),
  });
  // Send transactions, because without transactions the blocks that two nodes sign for the same slot would be equal.
  new Load(scripted.world).start(4000);
  let farthest = 0;
  for (let slot = 0; slot < 330; slot += 1) {
    await scripted.slots(1);
    farthest = Math.max(farthest, scripted.apart());
  }
  t.true(scripted.countOf('BLOCK_DOUBLE_FORGING') > 0);
  t.true(farthest <= 4, `${farthest} blocks apart`);
  t.true(scripted.finalized(0) > 60, `finalized ${scripted.finalized(0)}`);
});

test('a node that withholds its blocks leaves no node behind and does not stop finality', async (t) => {
  const scripted = await ScriptedWorld.begin({
    nodes: 4,
    misbehaviourOf: (node) => (node === 3 ? 'withholder' : undefined),
  });
  await scripted.slots(330);
  await scripted.meet();
  t.true(scripted.finalized(0) > 60, `finalized ${scripted.finalized(0)}`);
});
