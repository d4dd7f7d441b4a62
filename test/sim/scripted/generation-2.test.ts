/**
 * Tests networks of generation 2, in which no block becomes final. A node must forge only if enough of its peers have
 * the same tip as the node (consensus). After a partition, all nodes must agree on one chain again.
 */

import test from 'ava';

import type { SimNode } from '../node.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

const NETWORK = { generation: 2, delegateListRoundOffset: 0 } as const;

test('two halves with chains of equal length and too little consensus converge on one chain', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4, network: NETWORK });
  await scripted.slots(30);
  t.is(scripted.apart(0, 3), 0);
  scripted.world.partition([
    [0, 1],
    [2, 3],
  ]);
  await scripted.slots(20);
  let waited = 0;
  while (scripted.node(0).tip.height !== scripted.node(2).tip.height) {
    await scripted.slots(1);
    waited += 1;
    if (waited > 300) return t.fail('the halves never have chains of one length');
  }
  const tips = [scripted.node(0).tip, scripted.node(2).tip];
  t.not(tips[0]?.id, tips[1]?.id);
  scripted.world.wire.heal();
  t.true((await scripted.meet()) <= 6);
  const kept = tips.filter((tip) => scripted.node(0).store.heightOf(tip.id) !== undefined);
  t.is(kept.length, 1);
  return undefined;
});

test('a node left behind by its network does not forge, and switches to the longer chain', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4, network: NETWORK });
  await scripted.slots(20);
  scripted.world.partition([[0], [1, 2, 3]]);
  // Node 0 notices the partition only when its connections break, two to four slots after the start of the partition.
  // Until then, node 0 can still forge. Without connections, node 0 has no consensus, so it must not forge. The test
  // checks only the last 40 of the 80 slots.
  await scripted.slots(40);
  const alone = scripted.node(0).tip.height;
  await scripted.slots(40);
  t.is(scripted.node(0).tip.height, alone);
  t.true(scripted.countOf('FORGING_PAUSED') > 0);
  const ahead = scripted.node(1).tip;
  t.true(ahead.height > alone + 20);
  scripted.world.wire.heal();
  t.true((await scripted.meet()) <= 6);
  t.is(scripted.node(0).store.heightOf(ahead.id), ahead.height);
});

/**
 * Connects `count` simulated peers to each node in `victims`. All these peers have the same IP address, and they report
 * another, shorter chain.
 */
async function strangersElsewhere(scripted: ScriptedWorld, victims: readonly SimNode[], count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const transport = scripted.world.wire.transport({ ip: '172.20.0.1', wsPort: 6000 + index });
    transport.announce({
      os: 'sim',
      version: '2.3.8',
      wsPort: 6000 + index,
      httpPort: 0,
      protocolVersion: '1.1',
      nonce: `elsewhere${String(index).padStart(7, '0')}`,
      height: 2,
      broadhash: '77'.repeat(32),
    });
    await transport.start(silentHandlers());
    for (const victim of victims) {
      const [ip = '', wsPort = ''] = victim.peerId.split(':');
      transport.connect({ ip, wsPort: Number(wsPort) }).catch(() => undefined);
    }
  }
}

test('many strangers with another broadhash do not stop a delegate from forging', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4, network: NETWORK });
  await scripted.slots(10);
  await strangersElsewhere(scripted, scripted.world.nodes, 60);
  await scripted.slots(1);
  const { engine, tip } = scripted.node(0);
  t.true(engine.networkView.consensusPercent() < 10);
  await scripted.slots(30);
  t.true(scripted.node(0).tip.height >= tip.height + 29);
  t.is(scripted.countOf('FORGING_PAUSED'), 0);
});

test('the same strangers do not let a delegate forge after its own peers have left it', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4, network: NETWORK });
  await scripted.slots(10);
  await strangersElsewhere(scripted, [scripted.node(0)], 60);
  const strangers = Array.from({ length: 60 }, (_, index) => `172.20.0.1:${6000 + index}`);
  const [alone, ...others] = scripted.world.nodes.map(({ peerId }) => peerId);
  await scripted.slots(1);
  scripted.world.wire.partition([[alone!, ...strangers], others]);
  await scripted.slots(20);
  const { height } = scripted.node(0).tip;
  await scripted.slots(40);
  t.is(scripted.node(0).tip.height, height);
  t.true(scripted.countOf('FORGING_PAUSED', 0) > 0);
});
