/**
 * Tests new networks, whose nodes start with empty signing journals. The nodes must start to forge, but no delegate may
 * sign contradicting headers.
 */

import test from 'ava';

import { slotAt } from '../../../src/protocol/slots.ts';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { contradictions } from '../checks.ts';
import { Load } from '../load.ts';
import type { SimNode } from '../node.ts';
import { silentHandlers } from '../silent-handlers.ts';
import type { WireTransport } from '../wire.ts';
import { World, type WorldOptions } from '../world.ts';

const BLOCK_TIME_S = 10;
const ROUND = 101;
/** What a stranger announces of itself, besides its tip. */
const CLAIM = {
  os: 'sim',
  version: '3.0.2',
  wsPort: 6000,
  httpPort: 0,
  protocolVersion: '2.0',
  nonce: 'claimant00000001',
  blockVersion: 2,
};

function worldOf(generation: 2 | 3, options: Partial<WorldOptions>): World {
  const delegateListRoundOffset = generation === 2 ? 0 : 2;
  return new World({
    seed: 3,
    nodes: 1,
    network: { generation, delegateListRoundOffset, blockTimeS: BLOCK_TIME_S },
    riskDoubleForgingOf: () => false,
    ...options,
  });
}

const slots = (world: World, count: number): Promise<void> => world.run(count * BLOCK_TIME_S);

/** Makes a stranger that claims a chain of a million blocks. */
function boasterIn(world: World): WireTransport {
  const stranger = world.wire.transport({ ip: '172.20.0.1', wsPort: 6000 });
  const { genesis } = world.network;
  stranger.announce({ ...CLAIM, height: 1_000_000, maxHeightPrevoted: 999_000, lastBlockId: genesis.id });
  return stranger;
}

function addressOf({ peerId }: SimNode): { readonly ip: string; readonly wsPort: number } {
  const [ip = '', wsPort] = peerId.split(':');
  return { ip, wsPort: Number(wsPort) };
}

for (const generation of [2, 3] as const) {
  // A node of generation 2 forges only if enough of its peers have the same tip. In this generation, two nodes without
  // delegates therefore run as peers of node 0.
  const relays = generation === 2 ? 2 : 0;

  test(`a node with all delegates of a network of generation ${generation} starts it within four slots`, async (t) => {
    const world = worldOf(generation, { nodes: 1 + relays, forgersOf: (node, all) => (node === 0 ? all : []) });
    await world.startAll();
    const startSlot = world.node(0).engine.chain.currentSlot();
    await slots(world, 4);
    t.true(world.node(0).tip.height >= 2, `height ${world.node(0).tip.height}`);
    // Another node may have used the slot of the start, and the next one.
    t.true(slotAt(world.node(0).store.header(2)!.timestamp, world.rules.params) >= startSlot + 2);
    await slots(world, 260);
    t.true(world.node(0).tip.height > 250);
    // After a restart, the node forges again without a wait. Node 0 has all delegates of the network, so no other node
    // can have signed headers of these delegates while node 0 was down.
    world.node(0).crash();
    await slots(world, 130);
    await world.node(0).start();
    const { height } = world.node(0).tip;
    await slots(world, 10);
    t.true(world.node(0).tip.height > height + 5);
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

  test(`a node with some delegates of generation ${generation} waits, says how long, and starts its network`, async (t) => {
    const world = worldOf(generation, {
      nodes: 1 + relays,
      forgersOf: (node, all) => (node === 0 ? all.slice(0, 40) : []),
    });
    await world.startAll();
    const { engine, keys } = world.node(0);
    await slots(world, 1);
    for (let slot = 0; world.node(0).tip.height === 1 && slot < 2 * ROUND + 2; slot += 1) {
      const waiting = keys.map((keyPair) => engine.forging.waiting(publicKeyOf(keyPair)));
      for (const each of waiting.filter((one) => one !== undefined)) {
        t.true(each.reason.length > 10);
        t.true((each.untilMs ?? 0) > world.time.nowMs, `${each.code} ${each.reason}`);
      }
      if (slot < 20) t.true(waiting.some((one) => one !== undefined));
      await slots(world, 1);
    }
    t.true(world.node(0).tip.height >= 2);
    await slots(world, 2 * ROUND);
    t.true(world.node(0).tip.height > 60, `height ${world.node(0).tip.height}`);
    await world.close();
  });
}

test('two nodes that share the delegates start a network, and a later one joins before any final block', async (t) => {
  const world = worldOf(3, {
    nodes: 3,
    forgersOf: (node, all) => [all.slice(0, 30), all.slice(30, 60), all.slice(60)][node] ?? [],
  });
  await world.node(0).start();
  await world.node(1).start();
  await slots(world, 320);
  const signedBy = (node: number): number => world.node(node).journal.signed.length;
  t.true(signedBy(0) > 20 && signedBy(1) > 20, `${signedBy(0)} and ${signedBy(1)}`);
  t.true(world.node(0).engine.chain.finalizedHeight < 2);
  await world.node(2).start();
  await slots(world, 20);
  const waiting = world.node(2).engine.forging.waiting(publicKeyOf(world.node(2).keys[0]!));
  t.is(waiting?.code, 'FORGING_HAND_OVER');
  t.true((waiting?.untilMs ?? 0) > world.time.nowMs);
  await slots(world, 1200);
  t.true(signedBy(2) > 200, `${signedBy(2)}`);
  t.true(world.node(0).engine.chain.finalizedHeight > 300, `${world.node(0).engine.chain.finalizedHeight}`);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('a node that gets the delegates of another node of a young network waits, although it signed the first block', async (t) => {
  const world = worldOf(3, { nodes: 2, forgersOf: (node, all) => (node === 0 ? all.slice(0, 50) : all.slice(50)) });
  await world.startAll();
  for (let slot = 0; world.node(0).tip.height < 5 && slot < 300; slot += 1) await slots(world, 1);
  const first = world.node(0).store.header(2)!.generatorPublicKey;
  const [one, other] = world.node(0).journal.last(first) === undefined ? [1, 0] : [0, 1];
  // The other node goes on: its operator did not disable the delegates there.
  for (const keyPair of world.node(other).keys) world.node(one).engine.forging.enable(keyPair);
  await slots(world, 60);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('of two nodes that both have all delegates, the later one waits when it sees a block, and takes over after a crash', async (t) => {
  const world = worldOf(3, { nodes: 2, forgersOf: (_, all) => all });
  await world.node(0).start();
  await slots(world, 2.5);
  await world.node(1).start();
  await slots(world, 60);
  t.true(world.node(0).tip.height > 50);
  t.deepEqual(contradictions(world), []);
  world.node(0).crash();
  const { height } = world.node(1).tip;
  await slots(world, 4 * ROUND);
  t.true(world.node(1).tip.height > height + 20);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('a delegate that is enabled on two nodes by mistake does not stop a new network', async (t) => {
  const world = worldOf(3, { nodes: 2, forgersOf: (node, all) => (node === 0 ? all : all.slice(0, 1)) });
  await world.node(1).start();
  // The delegate leaves its first slot unused, and makes the first block of the network in a later one.
  await slots(world, ROUND + 1);
  const { engine, keys } = world.node(1);
  const turn = world.rules.forgers(world.node(1).store, 2).indexOf(publicKeyOf(keys[0]!));
  while (engine.chain.currentSlot() % ROUND !== (turn + ROUND - 1) % ROUND) await slots(world, 1);
  await world.node(0).start();
  await slots(world, ROUND);
  engine.forging.disable(publicKeyOf(keys[0]!));
  await slots(world, 3 * ROUND);
  t.true(world.node(0).tip.height > ROUND);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('on a young network, the wait of a second node does not end with the first block after a pause', async (t) => {
  for (const [shared, beforeSlots] of [
    [ROUND, 20],
    [10, 60],
  ] as const) {
    const world = worldOf(3, { nodes: 2, forgersOf: (node, all) => (node === 0 ? all : all.slice(0, shared)) });
    // Without transactions, two nodes could sign the same block.
    new Load(world).startTransfers(0.2);
    await world.node(0).start();
    await slots(world, 6.5);
    await world.node(1).start();
    await slots(world, beforeSlots);
    world.node(0).crash();
    await slots(world, 200);
    await world.node(0).start();
    await slots(world, 110);
    t.true(world.node(0).tip.height > 110);
    t.deepEqual(contradictions(world), []);
    await world.close();
  }
});

test('a node that made all blocks of a young network reaches finality soon after a long pause', async (t) => {
  const world = worldOf(3, { forgersOf: (_, all) => all });
  await world.startAll();
  await slots(world, 25);
  t.true(world.node(0).tip.height > 20);
  world.node(0).crash();
  await slots(world, 1000);
  await world.node(0).start();
  await slots(world, 300);
  t.true(world.node(0).engine.chain.finalizedHeight > 100, `${world.node(0).engine.chain.finalizedHeight}`);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('a stranger that claims a chain and sends nothing stops a new network for a round at most', async (t) => {
  const world = worldOf(3, { forgersOf: (_, all) => all });
  await world.startAll();
  const stranger = boasterIn(world);
  await stranger.start(silentHandlers());
  const dial = (): void => {
    void stranger.connect(addressOf(world.node(0))).catch(() => undefined);
    world.time.schedule(60_000, dial);
  };
  dial();
  await slots(world, 30);
  t.is(world.node(0).tip.height, 1);
  await slots(world, ROUND);
  t.true(world.node(0).tip.height > 20);
  await world.close();
});

test('a stranger that claims a chain stops a new network for a round at most, even if the node dials its address', async (t) => {
  const world = worldOf(3, { forgersOf: (_, all) => all });
  await world.startAll();
  const stranger = boasterIn(world);
  let dials = 0;
  await stranger.start({
    ...silentHandlers(),
    connected: ({ direction }) => void (dials += Number(direction === 'inbound')),
  });
  void stranger.connect(addressOf(world.node(0)));
  await slots(world, 0.5);
  for (const { peerId } of stranger.connections()) stranger.disconnect(peerId, { code: 1000, reason: 'bye' });
  await slots(world, 30);
  t.true(dials > 0, 'the node dials the stranger back');
  t.is(world.node(0).tip.height, 1);
  await slots(world, ROUND);
  t.true(world.node(0).tip.height > 20);
  await world.close();
});

test('a node with all delegates and only the genesis block signs nothing beside peers with a chain', async (t) => {
  const world = worldOf(3, { nodes: 2, forgersOf: (_, all) => all, riskDoubleForgingOf: (node) => node === 0 });
  await world.node(0).start();
  await slots(world, 20);
  await world.node(1).start();
  await slots(world, 3);
  t.is(world.node(1).journal.signed.length, 0);
  t.true(world.node(1).tip.height > 10);
  await world.close();
});

test('a node with an empty folder signs nothing while its peers are silent, however long that takes', async (t) => {
  for (const moved of [3, ROUND - 1]) {
    const world = worldOf(3, { nodes: 2, forgersOf: (node, all) => (node === 0 ? all : all.slice(0, moved)) });
    await world.node(0).start();
    await slots(world, 20);
    world.node(0).crash();
    world.partition([[0], [1]]);
    await world.node(1).start();
    await slots(world, 2 * ROUND);
    t.deepEqual(contradictions(world), []);
    t.is(world.node(1).journal.signed.length, 0);
    await world.node(0).start();
    world.wire.heal();
    await slots(world, 60);
    t.true(world.node(1).tip.height >= 20);
    await world.close();
  }
});
