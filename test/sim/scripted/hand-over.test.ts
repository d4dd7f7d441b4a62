/**
 * Tests hand-overs: delegates move from one node to another, with and without their signing record (their headers in
 * the signing journal).
 */

import test from 'ava';

import type { SignedHeader } from '../../../src/protocol/rules.ts';
import type { KeyPair } from '../../../src/protocol/types.ts';
import { publicKeyOf } from '../../support/chain-maker.ts';
import { contradictions } from '../checks.ts';
import { World, type WorldOptions } from '../world.ts';

const BLOCK_TIME_S = 10;
const OLD = 2;
const NEW = 3;
/**
 * Number of delegates that move. The number is low, so that blocks become final with only the delegates of nodes 0 and
 * 1.
 */
const MOVING = 3;

/**
 * Starts a world in which nodes 0 and 1 forge with most delegates. The tests move the delegates of node 2 (`OLD`) to
 * node 3 (`NEW`). Node 3 checks whether these delegates have signed headers on another node. The nodes in `watermarks`
 * keep watermarks of their signatures.
 */
async function begin(network: WorldOptions['network'], { watermarks = [] }: { readonly watermarks?: number[] } = {}) {
  const world = new World({
    seed: 7,
    nodes: 4,
    network: { blockTimeS: BLOCK_TIME_S, ...network },
    forgersOf: (node, delegates) => {
      if (node === OLD) return delegates.slice(0, MOVING);
      return node === NEW ? [] : delegates.slice(MOVING).filter((_, index) => index % 2 === node);
    },
    // Not only node 3, but also the nodes in `watermarks` check whether their delegates have signed on another node.
    riskDoubleForgingOf: (node) => node !== NEW && !watermarks.includes(node),
    hasWatermarksOf: (node) => watermarks.includes(node),
  });
  await world.startAll();
  const keys = world.node(OLD).keys;
  return { world, keys, slots: (count: number) => world.run(count * BLOCK_TIME_S) };
}

function enable(world: World, keys: readonly KeyPair[]): void {
  for (const keyPair of keys) world.node(NEW).engine.forging.enable(keyPair);
}

/** Returns the headers that a node has signed with the given keys, which are the keys of the delegates that move. */
function signedBy(world: World, node: number, keys: readonly KeyPair[]): readonly SignedHeader[] {
  const own = new Set(keys.map(publicKeyOf));
  return world
    .node(node)
    .journal.signed.filter(({ publicKey }) => own.has(publicKey))
    .map(({ header }) => header);
}

test('a moved delegate without a record signs only when a later block is final, and contradicts no signed header', async (t) => {
  const { world, keys, slots } = await begin({});
  await slots(230);
  t.true(signedBy(world, OLD, keys).length >= 2 * MOVING);
  world.node(OLD).crash();
  const movedS = world.node(NEW).engine.chain.nowS();
  enable(world, keys);
  const waiting = world.node(NEW).engine.forging.waiting(publicKeyOf(keys[0] as KeyPair));
  t.true(waiting !== undefined && (waiting.untilMs ?? 0) > world.time.nowMs);
  await slots(120);
  t.deepEqual(signedBy(world, NEW, keys), []);
  const countOf = (code: string): number => world.counts.get(code) ?? 0;
  t.true(countOf('FORGING_ELSEWHERE') + countOf('FORGING_HAND_OVER') >= MOVING);
  await slots(350);
  const signed = signedBy(world, NEW, keys);
  t.true(signed.length >= MOVING, `${signed.length}`);
  t.true(countOf('FORGING_HAND_OVER') > 0);
  t.true(signed.every(({ timestamp }) => timestamp > movedS + 100 * BLOCK_TIME_S));
  t.deepEqual(contradictions(world), []);
  for (const { height, blockId } of signed.slice(0, MOVING)) t.is(world.node(0).store.header(height)?.id, blockId);
  t.is(world.node(NEW).engine.forging.waiting(publicKeyOf(keys[0] as KeyPair)), undefined);
});

test('a delegate without its record contradicts no header that it signed on a branch that no other node had', async (t) => {
  const { world, keys, slots } = await begin({});
  await slots(230);
  world.partition([[0, 1, NEW], [OLD]]);
  const before = signedBy(world, OLD, keys).length;
  await slots(110);
  t.true(signedBy(world, OLD, keys).length > before);
  world.node(OLD).crash();
  world.wire.heal();
  enable(world, keys);
  await slots(420);
  t.true(signedBy(world, NEW, keys).length >= MOVING);
  t.deepEqual(contradictions(world), []);
});

test('while another folder signs, a folder without a record does not take over its watermarks', async (t) => {
  const { world, keys, slots } = await begin({}, { watermarks: [OLD, NEW] });
  await slots(130);
  // Let the old node and the new node use the same watermarks, as if the data folders of both nodes belonged to the
  // same user of a machine.
  const shared = world.node(OLD).watermarks;
  Object.assign(world.node(NEW).watermarks, { read: shared.read.bind(shared), write: shared.write.bind(shared) });
  enable(world, keys);
  t.true(keys.every((keyPair) => world.node(NEW).engine.forging.waiting(publicKeyOf(keyPair)) !== undefined));
  await slots(205);
  t.deepEqual(signedBy(world, NEW, keys), []);
  t.true(
    (world.counts.get('FORGING_WAITS_FOR_EMPTY_SLOT') ?? 0) + (world.counts.get('FORGING_ELSEWHERE') ?? 0) >= MOVING,
  );
  const before = signedBy(world, OLD, keys).length;
  t.true(before >= 3 * MOVING);
  // When the old node stops, each of its delegates leaves its next slot empty. The new node waits for such an empty
  // slot, and then signs for the delegate.
  world.node(OLD).crash();
  await slots(205);
  t.true(signedBy(world, NEW, keys).length >= MOVING);
  t.deepEqual(contradictions(world), []);
});

test('a watermark from another genesis of the network does not count as a record', async (t) => {
  const { world, keys, slots } = await begin({}, { watermarks: [OLD, NEW] });
  await slots(130);
  world.node(OLD).crash();
  for (const publicKey of keys.map(publicKeyOf)) {
    const { last } = world.node(OLD).watermarks.read(publicKey) ?? {};
    if (last === undefined) return t.fail('it never signed');
    const later = { ...last, blockId: '1', height: 5000, timestamp: last.timestamp + 50_000 };
    world.node(NEW).watermarks.write(publicKey, { last: later, firstBlockId: '2' });
  }
  enable(world, keys);
  await slots(205);
  // The test has written watermarks (newest signed headers of delegates) for the new node. These watermarks belong to
  // another chain: their `firstBlockId` is not the id of block 2 of this chain. The new node must ignore them. It must
  // wait like a node without a signing record, with the code `FORGING_HAND_OVER`.
  const { entries } = world.node(NEW).journal;
  t.false(keys.some((keyPair) => entries.get(publicKeyOf(keyPair))?.some(({ blockId }) => blockId === '1')));
  t.true((world.counts.get('FORGING_HAND_OVER') ?? 0) > 0);
  return undefined;
});

test('with its record a delegate of generation 3 continues in its next slot', async (t) => {
  const { world, keys, slots } = await begin({});
  await slots(230);
  world.node(OLD).crash();
  for (const keyPair of keys) {
    const last = world.node(OLD).journal.last(publicKeyOf(keyPair));
    if (last === undefined) return t.fail('it never signed');
    world.node(NEW).journal.record(publicKeyOf(keyPair), last);
  }
  enable(world, keys);
  await slots(205);
  t.true(signedBy(world, NEW, keys).length >= MOVING);
  t.is(world.counts.get('FORGING_HAND_OVER'), undefined);
  t.is(world.counts.get('FORGING_ELSEWHERE'), undefined);
  t.deepEqual(contradictions(world), []);
  return undefined;
});

for (const generation of [2, 3] as const) {
  test(`generation ${generation}: a delegate active elsewhere signs nothing here, then skips two slots`, async (t) => {
    const { world, keys, slots } = await begin({ generation, delegateListRoundOffset: generation === 2 ? 0 : 2 });
    await slots(105);
    enable(world, keys);
    await slots(305);
    t.deepEqual(signedBy(world, NEW, keys), []);
    t.true((world.counts.get('FORGING_ELSEWHERE') ?? 0) >= MOVING);
    world.node(OLD).crash();
    const aside = signedBy(world, OLD, keys).at(-1)?.timestamp ?? 0;
    await slots(generation === 2 ? 505 : 750);
    const signed = signedBy(world, NEW, keys);
    t.true(signed.length >= MOVING, `${signed.length}`);
    t.true(signed.every(({ timestamp }) => timestamp > aside + 50 * BLOCK_TIME_S));
    t.deepEqual(contradictions(world), []);
  });
}

test('when another node begins to forge for a delegate, this node stops by itself', async (t) => {
  const { world, keys, slots } = await begin({ generation: 2, delegateListRoundOffset: 0 });
  world.node(OLD).crash();
  enable(world, keys);
  await slots(110);
  const signed = signedBy(world, NEW, keys).length;
  t.true(signed >= MOVING);
  // The new node is down while the old node starts again and forges with the delegates.
  world.node(NEW).crash();
  await world.node(OLD).start();
  await slots(210);
  t.true(signedBy(world, OLD, keys).length > 0);
  await world.node(NEW).start();
  enable(world, keys);
  await slots(210);
  t.is(signedBy(world, NEW, keys).length, signed);
  t.deepEqual(contradictions(world), []);
});

test('a node with an old record contradicts no signed header, whenever its delegates signed on another node', async (t) => {
  const moving = 2;
  const delegates = 7;
  const world = new World({
    seed: 7,
    nodes: 4,
    network: { blockTimeS: BLOCK_TIME_S, delegates, activeDelegates: delegates },
    forgersOf: (node, all) => {
      if (node === OLD) return all.slice(0, moving);
      return node === NEW ? [] : all.slice(moving).filter((_, index) => index % 2 === node);
    },
    riskDoubleForgingOf: (node) => node !== OLD,
  });
  const slots = (count: number): Promise<void> => world.run(count * BLOCK_TIME_S);
  await world.startAll();
  const { keys } = world.node(OLD);
  await slots(60);
  t.true(signedBy(world, OLD, keys).length > moving);
  world.node(OLD).crash();
  const { journal } = world.node(NEW);
  for (const publicKey of keys.map(publicKeyOf)) {
    const last = world.node(OLD).journal.last(publicKey);
    if (last !== undefined) journal.record(publicKey, last);
  }
  journal.signed.length = 0;
  enable(world, keys);
  await slots(25);
  const elsewhere = signedBy(world, NEW, keys).length;
  t.true(elsewhere > moving);
  world.node(NEW).crash();
  // While both nodes are down, nodes 0 and 1 forge more blocks than `range` (`protocol/gen3/bft.ts`). The headers that
  // the new node has signed are then too old to count as votes.
  await slots(6 * delegates);
  const before = signedBy(world, OLD, keys).length;
  await world.node(OLD).start();
  await slots(60);
  t.true(signedBy(world, OLD, keys).length > before, 'it goes on in the end');
  t.deepEqual(contradictions(world), []);
});
