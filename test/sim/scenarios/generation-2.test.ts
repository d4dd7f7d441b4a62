/** What a network without finality promises: consent before forging, and one chain in the end. */

import test from 'ava';

import { Scenario } from '../scenario.ts';

const NETWORK = { generation: 2, delegateListRoundOffset: 0 } as const;

test('halves with chains of one length, neither with the consent to go on, end on one of the two', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4, network: NETWORK });
  await scenario.slots(30);
  t.is(scenario.apart(0, 3), 0);
  scenario.world.partition([
    [0, 1],
    [2, 3],
  ]);
  await scenario.slots(20);
  let waited = 0;
  while (scenario.node(0).tip.height !== scenario.node(2).tip.height) {
    await scenario.slots(1);
    waited += 1;
    if (waited > 300) return t.fail('the halves never have chains of one length');
  }
  const tips = [scenario.node(0).tip, scenario.node(2).tip];
  t.not(tips[0]?.id, tips[1]?.id);
  scenario.world.wire.heal();
  t.true((await scenario.meet()) <= 6);
  const kept = tips.filter((tip) => scenario.node(0).store.heightOf(tip.id) !== undefined);
  t.is(kept.length, 1);
  return undefined;
});

test('a node that its network has left behind does not forge, and takes over the longer chain', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4, network: NETWORK });
  await scenario.slots(20);
  scenario.world.partition([[0], [1, 2, 3]]);
  // It notices the silence only when its peers are gone; from then on nobody agrees with it.
  await scenario.slots(40);
  const alone = scenario.node(0).tip.height;
  await scenario.slots(40);
  t.is(scenario.node(0).tip.height, alone);
  t.true(scenario.said('FORGING_PAUSED') > 0);
  const ahead = scenario.node(1).tip;
  t.true(ahead.height > alone + 20);
  scenario.world.wire.heal();
  t.true((await scenario.meet()) <= 6);
  t.is(scenario.node(0).store.heightOf(ahead.id), ahead.height);
});
