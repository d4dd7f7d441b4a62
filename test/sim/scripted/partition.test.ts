/** Tests networks that a partition splits into parts, and whose nodes connect again later. */

import test from 'ava';

import type { KeyPair } from '../../../src/protocol/types.ts';
import { ScriptedWorld } from '../scripted-world.ts';

/**
 * Returns a function that gives the delegates of a node. Node 0 forges with the first `counts[0]` delegates, node 1
 * with the next `counts[1]` delegates, and so on.
 */
function dealt(...counts: readonly number[]) {
  return (node: number, delegates: readonly KeyPair[]): readonly KeyPair[] => {
    const from = counts.slice(0, node).reduce((sum, count) => sum + count, 0);
    return delegates.slice(from, from + counts[node]!);
  };
}

test('two halves apart for 30 minutes end on one chain, and neither had final blocks meanwhile', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4 });
  await scripted.slots(30);
  const before = scripted.node(0).tip.height;
  scripted.world.partition([
    [0, 1],
    [2, 3],
  ]);
  await scripted.slots(180);
  t.true(scripted.apart(0, 1) <= 1);
  t.true(scripted.apart(0, 2) > 60);
  t.true(scripted.finalized(0) <= before && scripted.finalized(2) <= before);
  scripted.world.wire.heal();
  t.true((await scripted.meet()) <= 6);
  t.true(scripted.countOf('CHAIN_REORG') >= 2);
});

test('in a partition of 40 and 61 delegates the 40 switch over, and both finalize the common chain', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 2, forgersOf: dealt(40, 61) });
  await scripted.slots(250);
  const before = scripted.finalized(1);
  const split = scripted.node(1).tip.height;
  scripted.world.partition([[0], [1]]);
  await scripted.slots(150);
  // Finality needs the precommits of 68 delegates. A block from before the partition may have enough, because delegates
  // of the other side also sent precommits for it before the partition. A later block has at most the 61 precommits of
  // this side, so it cannot become final.
  t.true(scripted.finalized(1) > before && scripted.finalized(1) <= split);
  const longer = scripted.node(1).tip;
  scripted.world.wire.heal();
  await scripted.meet();
  t.is(scripted.node(0).store.heightOf(longer.id), longer.height);
});

test('68 delegates finalize without the other 33, who switch over later', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 2, forgersOf: dealt(33, 68) });
  await scripted.slots(150);
  const split = scripted.node(1).tip.height;
  scripted.world.partition([[0], [1]]);
  await scripted.slots(420);
  t.true(scripted.finalized(1) > split);
  t.true(scripted.finalized(0) <= split);
  const dead = scripted.node(0).tip;
  scripted.world.wire.heal();
  await scripted.meet();
  t.is(scripted.node(0).store.heightOf(dead.id), undefined);
  t.true(scripted.finalized(0) > split);
});

test('a node that forged a dead branch of 150 blocks recovers by itself', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 3, forgersOf: dealt(35, 35, 31) });
  await scripted.slots(20);
  scripted.world.partition([[0, 1], [2]]);
  await scripted.slots(490);
  t.true(scripted.apart(0, 2) > 300);
  t.true(scripted.node(2).tip.height - 20 >= 149);
  scripted.world.wire.heal();
  t.true((await scripted.meet()) <= 6);
});

test('two halves apart for six hours without finality meet as soon as halves apart for a minute', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 2, forgersOf: dealt(50, 51) });
  await scripted.slots(20);
  scripted.world.partition([[0], [1]]);
  await scripted.slots(2200);
  t.true(scripted.apart() > 1050);
  scripted.world.wire.heal();
  t.true((await scripted.meet()) <= 6);
  t.is(scripted.countOf('CHAIN_REORG'), 1);
});

test('a late node catches up in a quiet network in which no node sends a block', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 3, forgersOf: dealt(101, 0, 0) });
  scripted.node(2).crash();
  await scripted.slots(40);
  for (const keyPair of scripted.node(0).keys) {
    scripted.node(0).engine.forging.disable(Buffer.from(keyPair.publicKey).toString('hex'));
  }
  await scripted.node(2).start();
  await scripted.meet(2);
  t.true(scripted.node(2).tip.height > 35);
});
