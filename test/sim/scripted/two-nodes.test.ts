/**
 * Tests two nodes on which the same delegates are enabled by mistake. The two nodes receive each other's blocks. The
 * node that starts first forges with these delegates. While this node forges, the other node must not sign for these
 * delegates. During the tests, random nodes receive transfers. If both nodes sign a block for the same slot, their
 * blocks therefore usually contain different transfers and have different ids, so the tests can detect that both nodes
 * signed.
 */

import test from 'ava';

import type { SignedHeader } from '../../../src/protocol/rules.ts';
import type { PublicKey } from '../../../src/protocol/types.ts';
import { contradictions } from '../checks.ts';
import type { SimNode } from '../node.ts';
import { slots, worldOf } from '../two-nodes.ts';
import type { World } from '../world.ts';

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

test('generation 3: new delegates on two nodes with one folder of watermarks', async (t) => {
  const world = worldOf(3, { forgersOf: (node, all) => (node === 2 ? [] : all), hasWatermarksOf: () => true });
  shareWatermarks(world, world.node(0), world.node(1));
  await world.node(2).start();
  await world.node(0).start();
  await slots(world, 1.5);
  await world.node(1).start();
  await slots(world, 60);
  t.true(world.node(0).journal.signed.length > 50);
  t.deepEqual(contradictions(world), []);
  await world.close();
});

for (const generation of [2, 3] as const)
  test(`generation ${generation}: new delegates on two nodes, when the first node restarts`, async (t) => {
    const world = worldOf(generation, {
      forgersOf: (node, all) => (node === 2 ? [] : all),
      hasWatermarksOf: () => true,
    });
    await world.node(2).start();
    await world.node(0).start();
    await slots(world, 1.5);
    await world.node(1).start();
    await slots(world, 25);
    world.node(0).crash();
    await slots(world, 3);
    await world.node(0).start();
    await slots(world, 130);
    t.true(world.node(0).journal.signed.length > 120);
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

test('generation 2: a node that has seen blocks of another node for its delegates still knows it after a restart', async (t) => {
  for (const seed of [2, 3]) {
    const isShared = (index: number): boolean => index % 10 === seed;
    const world = worldOf(2, {
      seed,
      nodes: 4,
      forgersOf: (node, all) => (node === 3 ? [] : all.filter((_, index) => isShared(index) === (node !== 1))),
    });
    for (const node of [1, 3, 0]) await world.node(node).start();
    while (world.node(0).journal.signed.length < 2) await slots(world, 1);
    await slots(world, 0.5);
    await world.node(2).start();
    await slots(world, 2);
    world.node(2).crash();
    await slots(world, 1);
    await world.node(2).start();
    await slots(world, 30);
    t.deepEqual(contradictions(world), []);
    await world.close();
  }
});
