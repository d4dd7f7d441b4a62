/** Long tests of two nodes on which the same delegates are enabled by mistake (see `two-nodes.test.ts`). */

import test from 'ava';

import { addressOfPair, makeTransaction, publicKeyOf } from '../../support/chain-maker.ts';
import { contradictions } from '../checks.ts';
import { BLOCK_TIME_S, networkOf, slots, worldOf } from '../two-nodes.ts';

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

test('generation 3: new delegates on two nodes, also after the first final block', async (t) => {
  const world = worldOf(3, { forgersOf: (node, all) => (node === 2 ? [] : all), hasWatermarksOf: () => true });
  await world.node(2).start();
  await world.node(0).start();
  await slots(world, 1.5);
  await world.node(1).start();
  await slots(world, 300);
  t.true(world.node(0).journal.signed.length > 290);
  t.true(world.node(0).engine.chain.finalizedHeight > 1);
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
    // Nodes 0 and 2 have the keys of the same six delegates. Node 2 forges with them first, so its signing journal has
    // headers of these delegates. The signing journal of node 0 has no headers. After the crash of node 2, node 0
    // begins to forge with these delegates.
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

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a node that waits does not take over from a node whose blocks arrive too late`, async (t) => {
    const [delegates, shared] = [21, 6];
    const world = worldOf(generation, {
      nodes: 4,
      network: { ...networkOf(generation), delegates, activeDelegates: delegates },
      forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(shared) : all.slice(0, shared)),
    });
    for (const node of [1, 3, 0]) await world.node(node).start();
    await slots(world, 6 * delegates);
    await world.node(2).start();
    await slots(world, 2 * delegates);
    const before = world.node(0).journal.signed.length;
    // Each block of node 0 arrives after the blocks of the next two slots, so fork choice discards the block.
    world.wire.messageDelaysMs.set(world.node(0).peerId, 2.5 * BLOCK_TIME_S * 1000);
    await slots(world, 12 * delegates);
    t.true(world.node(0).journal.signed.length > before + 3 * shared);
    t.is(world.node(2).journal.signed.length, 0);
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

for (const generation of [2, 3] as const)
  test(`generation ${generation}: late blocks of a delegate that is disabled count after it is enabled again`, async (t) => {
    const [delegates, shared] = [21, 6];
    const world = worldOf(generation, {
      nodes: 4,
      network: { ...networkOf(generation), delegates, activeDelegates: delegates },
      forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(shared) : all.slice(0, shared)),
    });
    const [former, present] = [world.node(2), world.node(0)];
    for (const node of [1, 3, 2]) await world.node(node).start();
    await slots(world, 6 * delegates);
    for (const keyPair of former.keys) former.engine.forging.disable(publicKeyOf(keyPair));
    await slots(world, 2);
    present.restore({ journal: former.copyFolder().journal }, false);
    world.wire.messageDelaysMs.set(present.peerId, 2.5 * BLOCK_TIME_S * 1000);
    await present.start();
    await slots(world, 2 * delegates);
    const before = former.journal.signed.length;
    for (const keyPair of former.keys) former.engine.forging.enable(keyPair);
    await slots(world, delegates);
    t.true(present.journal.signed.length > shared);
    // In generation 2, `present` pauses in some slots, because few of its peers have its tip.
    t.true(former.journal.signed.length <= before + (generation === 2 ? shared / 2 : 0));
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

test('generation 3: of two nodes with the same complete records and a third of the delegates, one continues', async (t) => {
  const [delegates, shared] = [7, 4];
  const world = worldOf(3, {
    seed: 1,
    nodes: 4,
    network: { ...networkOf(3), delegates, activeDelegates: delegates },
    forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(shared) : all.slice(0, shared)),
  });
  for (const node of [1, 3, 0]) await world.node(node).start();
  await slots(world, 6 * delegates);
  world.node(2).restore({ journal: world.node(0).copyFolder().journal }, false);
  await world.node(2).start();
  await slots(world, delegates);
  // Both nodes have signed in the same slots. The nodes must not wait for each other.
  t.true(contradictions(world).length > 0);
  world.node(2).crash();
  const before = world.node(0).journal.signed.length;
  const finalized = world.node(1).engine.chain.finalizedHeight;
  await slots(world, 30 * delegates);
  t.true(world.node(0).journal.signed.length > before + 20 * shared);
  t.true(world.node(1).engine.chain.finalizedHeight > finalized + 15 * delegates);
  await world.close();
});

test('generation 3: a node that heard nothing for a while, and a node with the same records, do not stop each other', async (t) => {
  const [delegates, shared] = [7, 4];
  const world = worldOf(3, {
    nodes: 4,
    network: { ...networkOf(3), delegates, activeDelegates: delegates },
    forgersOf: (node, all) => {
      const others = all.slice(shared);
      return node === 1 ? others.slice(1) : node === 3 ? others.slice(0, 1) : all.slice(0, shared);
    },
  });
  for (const node of [1, 3, 0]) await world.node(node).start();
  await slots(world, 6 * delegates);
  const [deaf, other] = [world.node(0), world.node(2)];
  other.restore({ journal: deaf.copyFolder().journal, disk: deaf.disk }, false);
  await other.start();
  await slots(world, 0.3);
  world.wire.deaf.add(deaf.peerId);
  await slots(world, 16);
  world.wire.deaf.clear();
  await slots(world, 3 * delegates);
  const signed = (): number => deaf.journal.signed.length + other.journal.signed.length;
  const [before, finalized] = [signed(), world.node(1).engine.chain.finalizedHeight];
  await slots(world, 8 * delegates);
  t.true(signed() >= before + 6 * shared);
  t.true(world.node(1).engine.chain.finalizedHeight > finalized + 4 * delegates);
  await world.close();
});

test('generation 3: two nodes with the same records, whose blocks both arrive too late, do not both go on', async (t) => {
  const [delegates, shared] = [11, 3];
  const world = worldOf(3, {
    nodes: 4,
    network: { ...networkOf(3), delegates, activeDelegates: delegates },
    forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(shared) : all.slice(0, shared)),
  });
  for (const node of [1, 3, 0]) await world.node(node).start();
  await slots(world, 6 * delegates);
  world.node(2).restore({ journal: world.node(0).copyFolder().journal }, false);
  for (const node of [0, 2]) world.wire.messageDelaysMs.set(world.node(node).peerId, 2.5 * BLOCK_TIME_S * 1000);
  await world.node(2).start();
  await slots(world, 4 * delegates);
  const before = contradictions(world).length;
  await slots(world, 8 * delegates);
  t.is(contradictions(world).length, before);
  await world.close();
});

for (const generation of [2, 3] as const)
  for (const hasRecord of [true, false])
    test(`generation ${generation}: a delegate that returns to the active ones ${hasRecord ? 'with' : 'without'} a record`, async (t) => {
      const active = 21;
      const world = worldOf(generation, {
        nodes: 4,
        network: {
          ...{ ...networkOf(generation), delegates: active + 1, activeDelegates: active, accounts: 10 },
          votes: [
            { account: 0, delegates: [0] },
            { account: 1, delegates: Array.from({ length: active - 1 }, (_, index) => index + 1) },
          ],
        },
        // Nodes 0 and 2 have the keys of the same delegate: the first delegate of the network. Node 1 has the keys of
        // all other delegates, and node 3 has no keys.
        forgersOf: (node, all) => (node === 3 ? [] : node === 1 ? all.slice(1) : all.slice(0, 1)),
      });
      const { accounts, delegates } = world.network;
      const [key, other] = [publicKeyOf(delegates[0]!), publicKeyOf(delegates[active]!)];
      const vote = (account: number, text: string): void => {
        const sender = accounts[account]!;
        const recipient = generation === 2 ? { recipientId: addressOfPair(sender) } : {};
        const timestamp = world.node(1).engine.chain.nowS() - 60;
        const payload = { kind: 'vote', votes: [text], amount: 0n, ...recipient } as const;
        const transaction = makeTransaction(world.params, sender, payload, { timestamp });
        world.node(1).engine.pool.submit(world.rules.codec.transactionToJson(transaction));
      };
      const isActive = (): boolean => {
        const { state, tip } = world.node(1).engine.chain;
        return world.rules.forgers(state, tip.header.height + 1).includes(key);
      };
      const untilActive = async (isWanted: boolean): Promise<void> => {
        for (let count = 0; count < 12 * active && isActive() !== isWanted; count += 1) await slots(world, 1);
        t.is(isActive(), isWanted);
      };
      for (const node of [1, 3]) await world.node(node).start();
      if (hasRecord) {
        await world.node(0).start();
        await slots(world, 6 * active);
        world.node(0).crash();
      }
      await world.node(2).start();
      await slots(world, 14 * active);
      if (hasRecord) await world.node(0).start();
      await slots(world, 4 * active + 0.5);
      t.true(world.node(2).journal.signed.length > 2);
      vote(0, `-${key}`);
      vote(2, `+${other}`);
      await untilActive(false);
      await slots(world, 5 * active);
      if (!hasRecord) await world.node(0).start();
      await slots(world, 2 * active);
      if (!hasRecord) {
        // After this restart, node 0 sees no new block of the delegate until the delegate is active again. The newest
        // blocks of the delegate on the chain are several rounds old.
        world.node(0).crash();
        await world.node(0).start();
        await slots(world, 4 * active);
      }
      vote(0, `+${key}`);
      vote(3, `+${key}`);
      await untilActive(true);
      await slots(world, 2 * active);
      t.deepEqual(contradictions(world), []);
      await world.close();
    });

for (const generation of [2, 3] as const)
  test(`generation ${generation}: a node that waits, and has lost the other node, does not take over because of its own blocks`, async (t) => {
    const [delegates, shared] = [21, 4];
    const world = worldOf(generation, {
      nodes: 4,
      network: { ...networkOf(generation), delegates, activeDelegates: delegates },
      // Node 2 has the keys of the delegates of node 0, and also the keys of other delegates. Node 3 has no keys.
      forgersOf: (node, all) =>
        [all.slice(0, shared), all.slice(shared, 12), [...all.slice(0, shared), ...all.slice(12)], []][node] ?? [],
    });
    for (const node of [1, 3, 0]) await world.node(node).start();
    await slots(world, 4 * delegates);
    await world.node(2).start();
    await slots(world, 8 * delegates);
    const before = [0, 2].map((node) => world.node(node).journal.signed.length);
    world.partition([
      [0, 1],
      [2, 3],
    ]);
    await slots(world, 6 * delegates);
    const signed = [0, 2].map((node) => world.node(node).journal.signed.length);
    t.true(signed.every((count, index) => count > (before[index] ?? 0)));
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

test('generation 2: slots in which the node did not hear the network do not count after the connection is back', async (t) => {
  const [delegates, shared] = [21, 4];
  const world = worldOf(2, {
    nodes: 4,
    network: { ...networkOf(2), delegates, activeDelegates: delegates },
    // Node 2 has the keys of the delegates of node 0, and also the keys of so many other delegates that the branch of
    // node 2 becomes longer than the branch of node 0.
    forgersOf: (node, all) =>
      [all.slice(0, shared), all.slice(shared, 8), [...all.slice(0, shared), ...all.slice(10)]][node] ?? [],
  });
  for (const node of [1, 3, 0]) await world.node(node).start();
  await slots(world, 4 * delegates);
  await world.node(2).start();
  await slots(world, 6 * delegates);
  world.node(0).crash();
  await slots(world, delegates);
  await world.node(0).start();
  world.partition([
    [0, 1],
    [2, 3],
  ]);
  await slots(world, delegates);
  const lost = world.node(0).tip;
  world.wire.heal();
  await slots(world, 3 * delegates);
  t.not(world.node(0).engine.chain.state.header(lost.height)?.id, lost.id, 'the branch of node 0 was reverted');
  t.deepEqual(contradictions(world), []);
  await world.close();
});

for (const generation of [2, 3] as const)
  test(`generation ${generation}: two nodes that each have the delegates of the other one, too, and lose each other`, async (t) => {
    const [delegates, half] = [21, 11];
    const world = worldOf(generation, {
      nodes: 4,
      network: { ...networkOf(generation), delegates, activeDelegates: delegates },
      forgersOf: (node, all) => [all.slice(0, half), all.slice(half)][node] ?? [],
    });
    for (const node of [3, 2, 0, 1]) await world.node(node).start();
    await slots(world, 6 * delegates);
    for (const node of [0, 1])
      for (const keyPair of world.network.delegates) world.node(node).engine.forging.enable(keyPair);
    await slots(world, 6 * delegates);
    const signed = [0, 1].map((node) => world.node(node).journal.signed.length);
    world.partition([
      [0, 2],
      [1, 3],
    ]);
    await slots(world, 5 * delegates);
    for (const node of [0, 1]) t.true(world.node(node).journal.signed.length > (signed[node] ?? 0));
    t.deepEqual(contradictions(world), []);
    await world.close();
  });

test('generation 2: a node that gets blocks only for its own enabled delegates takes over one that is switched off', async (t) => {
  const [delegates, own] = [21, 5];
  const world = worldOf(2, {
    network: { ...networkOf(2), delegates, activeDelegates: delegates },
    forgersOf: (node, all) => (node === 0 ? all.slice(own) : node === 1 ? all : []),
  });
  for (const node of [2, 0]) await world.node(node).start();
  await slots(world, 3 * delegates);
  await world.node(1).start();
  await slots(world, 3 * delegates);
  const key = publicKeyOf(world.network.delegates[own]!);
  const signs = (): boolean => world.node(1).journal.signed.some(({ publicKey }) => publicKey === key);
  t.false(signs());
  world.node(0).engine.forging.disable(key);
  await slots(world, 6 * delegates);
  t.true(signs());
  t.deepEqual(contradictions(world), []);
  await world.close();
});
