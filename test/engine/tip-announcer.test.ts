import test from 'ava';
import { TipAnnouncer } from '../../src/engine/tip-announcer.ts';
import type { NodeInfo } from '../../src/ports/transport.ts';
import { ChainMaker } from '../support/chain-maker.ts';
import { networkOf, slots, worldOf } from '../sim/two-nodes.ts';
import { FakeClock } from './peers/support.ts';

const NOBODY = { networkName: 'n', build: '', commit: '' };

test('a tip that stays the same is announced again every 30 s, except during a sync', async (t) => {
  const clock = new FakeClock();
  const { tip } = new ChainMaker();
  const sent: NodeInfo[] = [];
  let isSyncing = false;
  const announcer = new TipAnnouncer(
    {
      chain: { tip: { header: tip } },
      networkView: { broadhash: () => 'ab' },
      transport: { announce: (info) => void sent.push(info) },
      isSyncing: () => isSyncing,
      clock,
    },
    { identity: { ...NOBODY, version: '1.0.0', protocolVersion: '2.0', nonce: 'n' }, os: 'linux' },
  );
  const announced = async (afterMs: number): Promise<number> => {
    sent.length = 0;
    await clock.advance(afterMs);
    return sent.length;
  };
  announcer.start({ wsPort: 1, httpPort: 2 });
  t.is(await announced(29_999), 0);
  announcer.announce();
  t.is(await announced(29_999), 0, 'an announcement begins the time again');
  t.is(await announced(60_001), 3);
  t.like(sent[0], { height: tip.height, lastBlockId: tip.id });
  isSyncing = true;
  t.is(await announced(60_000), 0);
  isSyncing = false;
  t.is(await announced(30_000), 1);
  announcer.stop();
  announcer.announce();
  t.is(await announced(60_000), 0);
  t.is(clock.waiting, 0);
});

test('generation 2: a network whose nodes have missed announcements goes on', async (t) => {
  const delegates = 11;
  const world = worldOf(2, { seed: 3, network: { ...networkOf(2), delegates, activeDelegates: delegates } });
  await world.startAll();
  await slots(world, 2 * delegates);
  world.wire.quality = { ...world.wire.quality, loss: 1 };
  await slots(world, 8);
  world.wire.quality = { ...world.wire.quality, loss: 0 };
  const before = world.node(1).tip.height;
  await slots(world, 2 * delegates);
  t.true(world.node(1).tip.height > before + delegates);
  await world.close();
});
