/**
 * Tests the slot history (`engine.slotHistory`) of a node that is cut off from the network, or that is behind it. Such
 * a node cannot know the order of the delegates in newer rounds, so it finds the owners of their slots with the order
 * of the last round that it knows. The slot history must report the slots whose owners the node found with this old
 * order.
 */

import test from 'ava';
import { slotAt } from '../../../src/protocol/slots.ts';
import { ScriptedWorld } from '../scripted-world.ts';

test('a node cut off for rounds reports the slots judged by an old order, and those by the right one', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4, network: { delegates: 8, activeDelegates: 8 } });
  await scripted.slots(20);
  const node = scripted.node(3);
  const { params } = scripted.world;
  const slotNow = (): number => slotAt((scripted.world.time.nowMs - params.epochMs) / 1000, params);
  const before = slotNow();
  scripted.world.partition([[0, 1, 2], [3]]);
  // Node 3 forges alone in these 40 slots. Its chain grows only in the slots of its own delegates, so it stays several
  // rounds behind the chain of the other nodes.
  await scripted.slots(40);
  scripted.world.wire.heal();
  await scripted.meet();
  const { oldOrders, looks } = node.engine.slotHistory.report(0, 1);
  t.true(oldOrders.length > 0);
  for (const { fromSlot, toSlot, height } of oldOrders) {
    t.true(fromSlot <= toSlot && toSlot <= slotNow() && height > 1);
  }
  t.true(oldOrders.some(({ toSlot }) => toSlot >= before));
  t.true(looks.some(({ fromSlot, toSlot }) => fromSlot <= before && before + 40 <= toSlot));
});
