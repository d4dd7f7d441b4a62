/** Clocks that are wrong and nodes that all stop at once. */

import test from 'ava';

import { Scenario } from '../scenario.ts';

test('a clock 30 s fast and one 30 s slow hold nobody up, and their nodes follow', async (t) => {
  const scenario = await Scenario.begin({ nodes: 7 });
  scenario.node(5).skewMs = 30_000;
  scenario.node(6).skewMs = -30_000;
  await scenario.slots(420);
  const [height, finalized] = [scenario.node(0).tip.height, scenario.finalized(0)];
  // Slots of the two pass unused.
  t.true(height > 250, `height ${height}`);
  t.true(finalized > 50, `finalized ${finalized}`);
  t.true(scenario.apart(0, 5) <= 6, `the fast one is ${scenario.apart(0, 5)} apart`);
  t.true(scenario.apart(0, 6) <= 6, `the slow one is ${scenario.apart(0, 6)} apart`);
  scenario.node(5).skewMs = 0;
  scenario.node(6).skewMs = 0;
  await scenario.meet();
});

test('a slow node with a fork of its own changes to the part of the better branch that its clock lets it have', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4 });
  await scenario.slots(10);
  scenario.world.partition([[0, 1, 2], [3]]);
  scenario.node(3).skewMs = -30_000;
  await scenario.slots(12);
  t.true(scenario.apart(0, 3) > 6);
  scenario.world.wire.heal();
  await scenario.slots(12);
  t.true(scenario.apart(0, 3) <= 5);
});

test('all nodes restarted at once, again and again and in the middle of writes, go on where they were', async (t) => {
  const scenario = await Scenario.begin({ nodes: 4 });
  await scenario.slots(15);
  for (let round = 1; round <= 6; round += 1) {
    const before = Math.max(...scenario.world.honest.map((node) => node.tip.height));
    for (const node of scenario.world.nodes) {
      if (round % 2 === 0) node.crash();
      else node.crashAtWrite(3 * round, () => undefined);
    }
    await scenario.slots(4);
    for (const node of scenario.world.nodes) {
      node.disk.dieAtWrite(Number.POSITIVE_INFINITY, () => undefined);
      await node.start();
    }
    await scenario.meet();
    t.true(scenario.node(0).tip.height >= before);
    await scenario.slots(5);
  }
  t.true(scenario.node(0).tip.height > 40);
});

test('a node whose clock is an hour fast, or slow, forges nothing while its peers agree on that, and goes on when it is set', async (t) => {
  for (const skewMs of [3_600_000, -3_600_000]) {
    const scenario = await Scenario.begin({ nodes: 4 });
    await scenario.slots(60);
    const node = scenario.node(3);
    node.skewMs = skewMs;
    // Some blocks of each peer tell of it.
    await scenario.slots(12);
    const signed = node.journal.signed.length;
    await scenario.slots(60);
    t.is(node.journal.signed.length, signed, `${skewMs}`);
    // Of a slow clock all slots of its own lie behind the tip.
    if (skewMs > 0) t.true(scenario.said('FORGING_PAUSED') > 0);
    node.skewMs = 0;
    await scenario.slots(60);
    t.true(node.journal.signed.length > signed + 5, `${node.journal.signed.length - signed} after it was set`);
    await scenario.meet();
  }
});

test('of three nodes the one with the wrong clock is told so, and no other; of two, both are told that one is wrong', async (t) => {
  const network = { delegates: 12, activeDelegates: 12 };
  for (const [nodes, codes] of [
    [3, ['PEER_CLOCK_OFF', 'PEER_CLOCK_OFF', 'CLOCK_OFFSET']],
    [2, ['CLOCKS_DIFFER', 'CLOCKS_DIFFER']],
  ] as const) {
    const scenario = await Scenario.begin({ nodes, network });
    await scenario.slots(10);
    scenario.node(nodes - 1).skewMs = 30_000;
    await scenario.slots(60);
    const told = codes.map((_, index) => {
      const lines = scenario.world.lines.filter(({ node, code }) => node === index && /CLOCK/.test(code));
      return [...new Set(lines.map(({ code }) => code))].join(' ');
    });
    t.deepEqual(told, codes);
  }
});
