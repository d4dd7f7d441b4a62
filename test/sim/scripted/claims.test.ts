/** Tests a network in which many peers claim that they have a better chain, but send no blocks. */

import test from 'ava';

import type { SimNode } from '../node.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

const CLAIMANTS = 20;
const SLOTS = 60;

test('peers that claim a better chain and send nothing cost at most one slot, for any number of peers', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 4 });
  await scripted.slots(10);
  const { world } = scripted;
  const before = world.nodes[0]!.tip.height;
  for (let index = 0; index < CLAIMANTS; index += 1) {
    const transport = world.wire.transport({ ip: `172.20.0.${index + 1}`, wsPort: 6000 });
    transport.announce({
      os: 'sim',
      version: '3.0.2',
      wsPort: 6000,
      httpPort: 0,
      protocolVersion: '2.0',
      nonce: `claimant${String(index).padStart(8, '0')}`,
      height: 1_000_000,
      blockVersion: 2,
      maxHeightPrevoted: 999_000,
      lastBlockId: '42',
    });
    await transport.start(silentHandlers());
    for (const node of world.nodes) void transport.connect(addressOf(node)).catch(() => undefined);
  }
  await scripted.slots(SLOTS);
  const forged = world.nodes[0]!.tip.height - before;
  t.true(forged >= SLOTS - 1, `${forged} blocks in ${SLOTS} slots`);
  t.true(scripted.apart() <= 1);
});

function addressOf(node: SimNode): { ip: string; wsPort: number } {
  const [ip = '', wsPort = ''] = node.peerId.split(':');
  return { ip, wsPort: Number(wsPort) };
}
