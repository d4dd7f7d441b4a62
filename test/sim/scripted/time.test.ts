/** Tests networks in which some nodes have wrong clocks, or in which all nodes stop at the same time. */

import test from 'ava';

import type { NodeInfo, PeerId, PeerMessage } from '../../../src/ports/transport.ts';
import type { JsonObject } from '../../../src/protocol/types.ts';
import { ScriptedWorld } from '../scripted-world.ts';
import { silentHandlers } from '../silent-handlers.ts';

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
    // The node notices that its clock is wrong only after it has received several blocks from each of at least two of
    // its three peers.
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

test('a node notices that its own clock is 5 s or 20 s fast or slow', async (t) => {
  for (const skewMs of [5_000, -5_000, 20_000, -20_000]) {
    const scripted = await ScriptedWorld.begin({ nodes: 4, network: { delegates: 12, activeDelegates: 12 } });
    await scripted.slots(10);
    scripted.node(3).skewMs = skewMs;
    await scripted.slots(40);
    t.is(scripted.countOf('CLOCK_OFFSET', 3), 1, `${skewMs}`);
    for (const other of [0, 1, 2]) t.is(scripted.countOf('CLOCK_OFFSET', other), 0, `${skewMs}`);
  }
});

const INFO: NodeInfo = {
  os: 'sim',
  version: '3.0.2',
  wsPort: 6000,
  httpPort: 0,
  protocolVersion: '2.0',
  nonce: 'repeater00000000',
  height: 1,
  blockVersion: 2,
  maxHeightPrevoted: 0,
  lastBlockId: '42',
};

/**
 * Begins a world of two honest nodes, and connects three peers without a chain to node 0.
 *
 * @param blocksOf returns the blocks that such a peer sends to node 0, `delayMs` after the peer has received a block from
 *   node 0. Its argument is the list of all blocks that the peer has received up to this block.
 */
async function withRepeaters(
  generation: 2 | 3,
  direction: 'dialled' | 'inbound',
  delayMs: number,
  blocksOf: (received: readonly JsonObject[]) => readonly JsonObject[],
): Promise<ScriptedWorld> {
  const scripted = await ScriptedWorld.begin({ nodes: 2, network: { generation } });
  const { wire, time } = scripted.world;
  const node = scripted.node(0);
  const [nodeIp = '', wsPort = ''] = node.peerId.split(':');
  for (const ip of ['172.16.0.1', '172.17.0.1', '172.18.0.1']) {
    const repeater = wire.transport({ ip, wsPort: 6000 });
    const { height, id: lastBlockId } = node.tip;
    repeater.announce({ ...INFO, protocolVersion: generation === 2 ? '1.1' : '2.0', height, lastBlockId });
    const received: JsonObject[] = [];
    const message = (peerId: PeerId, { kind, ...rest }: PeerMessage): void => {
      if (kind !== 'block') return;
      received.push(Reflect.get(rest, 'block') as JsonObject);
      const blocks = blocksOf([...received]);
      time.schedule(delayMs, () => {
        for (const block of blocks) repeater.send(peerId, { kind: 'block', block });
      });
    };
    await repeater.start(silentHandlers({ message }));
    if (direction === 'dialled') void wire.at(node.peerId)?.connect({ ip, wsPort: 6000 });
    else void repeater.connect({ ip: nodeIp, wsPort: Number(wsPort) });
  }
  return scripted;
}

for (const generation of [2, 3] as const) {
  test(`dialled peers that repeat known blocks late do not pause forging, generation ${generation}`, async (t) => {
    const scripted = await withRepeaters(generation, 'dialled', 12_000, (received) => received.slice(-8));
    await scripted.slots(30);
    t.is(scripted.world.wire.at(scripted.node(0).peerId)?.connections().length, 4);
    // In generation 2, forging can also pause because too few peers have the node's tip.
    const pauses = scripted.world.lines.filter(({ node, code }) => node === 0 && code === 'FORGING_PAUSED');
    t.is(pauses.filter(({ fields }) => fields['cause'] === 'CLOCK_OFFSET').length, 0);
    t.is(scripted.countOf('CLOCK_OFFSET', 0), 0);
  });

  test(`inbound peers that repeat known blocks late cause no clock warning, generation ${generation}`, async (t) => {
    const scripted = await withRepeaters(generation, 'inbound', 12_000, (received) => received.slice(-8));
    await scripted.slots(30);
    t.is(scripted.world.wire.at(scripted.node(0).peerId)?.connections().length, 4);
    t.is(scripted.countOf('CLOCK_OFFSET', 0), 0);
    t.is(scripted.countOf('CLOCKS_DIFFER', 0), 0);
  });

  test(`several copies of a block from one peer say no more than one copy, generation ${generation}`, async (t) => {
    const scripted = await withRepeaters(generation, 'inbound', 0, (received) => {
      const [first] = received;
      return first === undefined ? [] : [first, first, first];
    });
    await scripted.slots(2);
    t.is(scripted.node(0).engine.clockOffset.estimateMs(), undefined);
  });
}

test('the clock of a peer that has left is no longer reported as different', async (t) => {
  const scripted = await ScriptedWorld.begin({ nodes: 3, network: { delegates: 12, activeDelegates: 12 } });
  await scripted.slots(10);
  scripted.node(2).skewMs = 30_000;
  const { clockOffset } = scripted.node(0).engine;
  for (let slot = 0; slot < 60 && clockOffset.verdict() === undefined; slot += 1) await scripted.slots(1);
  t.like(clockOffset.verdict(), { kind: 'peer', peerId: scripted.node(2).peerId });
  scripted.node(2).crash();
  await scripted.slots(12);
  t.is(clockOffset.verdict(), undefined);
});
