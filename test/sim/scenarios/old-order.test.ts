/** What nodes say of slots whose order they cannot know: cut off, or behind, they go by that of their last round. */

import test from 'ava';
import { slotAt } from '../../../src/protocol/slots.ts';
import { Scenario } from '../scenario.ts';

test('a node that was cut off for rounds tells which slots it judged by an old order, and those that it was sure of', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4, network: { delegates: 8, activeDelegates: 8 } });
  await scenario.slots(20);
  const node = scenario.node(3);
  const { params } = scenario.world;
  const slotNow = (): number => slotAt((scenario.world.time.nowMs - params.epochMs) / 1000, params);
  const before = slotNow();
  scenario.world.partition([[0, 1, 2], [3]]);
  // It forges on alone, so its own chain stands still only between its own slots.
  await scenario.slots(40);
  scenario.world.wire.heal();
  await scenario.meet();
  const { oldOrders, looks } = node.engine.slotRecords.report(0, 1);
  t.true(oldOrders.length > 0);
  for (const { fromSlot, toSlot, height } of oldOrders) {
    t.true(fromSlot <= toSlot && toSlot <= slotNow() && height > 1);
  }
  t.true(oldOrders.some(({ toSlot }) => toSlot >= before));
  t.true(looks.some(({ fromSlot, toSlot }) => fromSlot <= before && before + 40 <= toSlot));
});
