/** Tests networks in which some nodes have wrong clocks, or in which all nodes stop at the same time. */

import test from 'ava';

import { ScriptedWorld } from '../scripted-world.ts';

test('a clock 30 s fast and one 30 s slow delay no other node, and their nodes follow', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 7 });
  scripted.node(5).skewMs = 30_000;
  scripted.node(6).skewMs = -30_000;
  await scripted.slots(420);
  const [height, finalized] = [scripted.node(0).tip.height, scripted.finalized(0)];
  // In 420 slots, the chain must have more than 250 blocks. It does not have a block in each slot, because the slots of
  // the two nodes with wrong clocks stay empty.
  t.true(height > 250, `height ${height}`);
  t.true(finalized > 50, `finalized ${finalized}`);
  t.true(scripted.apart(0, 5) <= 6, `the fast one is ${scripted.apart(0, 5)} apart`);
  t.true(scripted.apart(0, 6) <= 6, `the slow one is ${scripted.apart(0, 6)} apart`);
  scripted.node(5).skewMs = 0;
  scripted.node(6).skewMs = 0;
  await scripted.meet();
});

test('a slow node with its own fork switches to the part of the better branch that its clock allows', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4 });
  await scripted.slots(10);
  scripted.world.partition([[0, 1, 2], [3]]);
  scripted.node(3).skewMs = -30_000;
  await scripted.slots(12);
  t.true(scripted.apart(0, 3) > 6);
  scripted.world.wire.heal();
  await scripted.slots(12);
  t.true(scripted.apart(0, 3) <= 5);
});

test('nodes restarted together, repeatedly and during writes, continue at their last block', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4 });
  await scripted.slots(15);
  for (let round = 1; round <= 6; round += 1) {
    const before = Math.max(...scripted.world.honest.map((node) => node.tip.height));
    for (const node of scripted.world.nodes) {
      if (round % 2 === 0) node.crash();
      else node.crashAtWrite(3 * round, () => undefined);
    }
    await scripted.slots(4);
    for (const node of scripted.world.nodes) {
      node.disk.dieAtWrite(Number.POSITIVE_INFINITY, () => undefined);
      await node.start();
    }
    await scripted.meet();
    t.true(scripted.node(0).tip.height >= before);
    await scripted.slots(5);
  }
  t.true(scripted.node(0).tip.height > 40);
});

test('a node with a clock an hour off forges nothing while its peers agree on it, and resumes when set', async (t) => {
  for (const skewMs of [3_600_000, -3_600_000]) {
    const scripted = await ScriptedWorld.begin({ nodes: 4 });
    await scripted.slots(60);
    const node = scripted.node(3);
    node.skewMs = skewMs;
    // The node notices that its clock is wrong after it has received some blocks from each of its peers.
    await scripted.slots(12);
    const signed = node.journal.signed.length;
    await scripted.slots(60);
    t.is(node.journal.signed.length, signed, `${skewMs}`);
    // If the clock of the node is an hour behind, the slots of its delegates are always before its tip, so the node
    // does not even try to forge. It pauses its forging only if the clock is an hour ahead.
    if (skewMs > 0) t.true(scripted.countOf('FORGING_PAUSED') > 0);
    node.skewMs = 0;
    await scripted.slots(60);
    t.true(node.journal.signed.length > signed + 5, `${node.journal.signed.length - signed} after it was set`);
    await scripted.meet();
  }
});

test('with three nodes, only the node with the wrong clock reports its clock; with two, both report that one is wrong', async (t) => {
  const network = { delegates: 12, activeDelegates: 12 };
  for (const [nodes, codes] of [
    [3, ['PEER_CLOCK_OFF', 'PEER_CLOCK_OFF', 'CLOCK_OFFSET']],
    [2, ['CLOCKS_DIFFER', 'CLOCKS_DIFFER']],
  ] as const) {
    const scripted = await ScriptedWorld.begin({ nodes, network });
    await scripted.slots(10);
    scripted.node(nodes - 1).skewMs = 30_000;
    await scripted.slots(60);
    const logged = codes.map((_, index) => {
      const lines = scripted.world.lines.filter(({ node, code }) => node === index && /CLOCK/.test(code));
      return [...new Set(lines.map(({ code }) => code))].join(' ');
    });
    t.deepEqual(logged, codes);
  }
});
