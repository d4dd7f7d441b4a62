/**
 * Tests two nodes on which the same delegates are enabled by mistake. They see each other's blocks. The node that came
 * first forges, and the other one must not sign beside it. The transactions make the blocks of two nodes differ.
 */

import test from 'ava';

import type { SignedHeader } from '../../../src/protocol/rules.ts';
import type { PublicKey } from '../../../src/protocol/types.ts';
import { contradictions } from '../checks.ts';
import { Load } from '../load.ts';
import type { SimNode } from '../node.ts';
import { World, type WorldOptions } from '../world.ts';

const BLOCK_TIME_S = 10;

const networkOf = (generation: 2 | 3) =>
  ({ generation, delegateListRoundOffset: generation === 2 ? 0 : 2, blockTimeS: BLOCK_TIME_S }) as const;

function worldOf(generation: 2 | 3, options: Partial<WorldOptions>): World {
  const world = new World({
    seed: 3,
    nodes: 3,
    network: networkOf(generation),
    riskDoubleForgingOf: () => false,
    ...options,
  });
  new Load(world).startTransfers(0.3);
  return world;
}

const slots = (world: World, count: number): Promise<void> => world.run(count * BLOCK_TIME_S);

/** Lets two nodes use the same watermarks. The other node sees a watermark 1 ms after the node that writes it. */
function shareWatermarks(world: World, one: SimNode, other: SimNode): void {
  const seen = [one, other].map(() => new Map<PublicKey, { readonly last?: SignedHeader }>());
  for (const [index, { watermarks }] of [one, other].entries()) {
    const [own, others] = [seen[index], seen[1 - index]];
    Object.assign(watermarks, {
      read: (publicKey: PublicKey) => own?.get(publicKey),
      write: (publicKey: PublicKey, watermark: { readonly last?: SignedHeader }) => {
        own?.set(publicKey, watermark);
        world.time.schedule(1, () => void others?.set(publicKey, watermark));
      },
      remove: (publicKey: PublicKey) => {
        for (const each of seen) each.delete(publicKey);
      },
    });
  }
}

for (const isShared of [false, true])
  test(`new delegates on two nodes, ${isShared ? 'with one folder of watermarks' : 'also after the first final block'}`, async (t) => {
    const world = worldOf(3, { forgersOf: (node, all) => (node === 2 ? [] : all), hasWatermarksOf: () => true });
    if (isShared) shareWatermarks(world, world.node(0), world.node(1));
    await world.node(2).start();
    await world.node(0).start();
    await slots(world, 1.5);
    await world.node(1).start();
    await slots(world, isShared ? 60 : 300);
    t.true(world.node(0).journal.signed.length > (isShared ? 50 : 290));
    if (!isShared) t.true(world.node(0).engine.chain.finalizedHeight > 1);
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

test('generation 2: a node that gets the new delegates of a running node signs nothing beside it', async (t) => {
  const world = worldOf(2, {
    nodes: 4,
    forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(50) : all.slice(0, 50)),
    fixedPeersOf: (node) => [[1, 3], [0, 3], [1], [0, 1]][node] ?? [],
  });
  for (const node of [0, 1, 3]) await world.node(node).start();
  await slots(world, 120);
  await world.node(2).start();
  await slots(world, 128);
  t.true(world.node(2).tip.height > 140);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

test('generation 2: a slot that a node left unused by a clock that was ahead does not count', async (t) => {
  const world = worldOf(2, {
    forgersOf: (node, all) => (node === 1 ? all.slice(50) : all.slice(0, 50)),
    fixedPeersOf: (node) => [[1], [0], [1]][node] ?? [],
    outboundMax: 1,
  });
  await world.node(0).start();
  await world.node(1).start();
  await slots(world, 260);
  world.node(2).skewMs = 40 * BLOCK_TIME_S * 1000;
  await world.node(2).start();
  await slots(world, 8);
  t.true((world.counts.get('FORGING_ELSEWHERE') ?? 0) + (world.counts.get('FORGING_WAITS_FOR_EMPTY_SLOT') ?? 0) > 0);
  world.node(2).skewMs = 0;
  await slots(world, 120);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a node that waits does not take over while the other node restarts`, async (t) => {
    const [delegates, shared] = [21, 6];
    const world = worldOf(generation, {
      nodes: 4,
      network: { ...networkOf(generation), delegates, activeDelegates: delegates },
      forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(shared) : all.slice(0, shared)),
    });
    // Node 2 forges first, so it has records. Node 0 has none, and takes over after node 2 is away.
    for (const node of [1, 3, 2]) await world.node(node).start();
    await slots(world, 6 * delegates);
    world.node(2).crash();
    await world.node(0).start();
    await slots(world, 12 * delegates);
    const before = world.node(2).journal.signed.length;
    t.true(before > shared && world.node(0).journal.signed.length > shared);
    await world.node(2).start();
    await slots(world, 2 * delegates + 0.5);
    for (const downSlots of [4, 6, 8, 5, 7]) {
      world.node(0).crash();
      await slots(world, downSlots);
      await world.node(0).start();
      await slots(world, 3 * delegates);
    }
    t.deepEqual(contradictions(world), []);
    t.is(world.node(2).journal.signed.length, before);
    // The other node is away for good.
    world.node(0).crash();
    await slots(world, 8 * delegates);
    t.true(world.node(2).journal.signed.length >= before + shared);
    t.deepEqual(contradictions(world), []);
    await world.close();
  });
