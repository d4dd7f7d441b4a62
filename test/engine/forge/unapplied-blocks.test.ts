/** Tests which of the blocks that a node does not apply show a signature of a delegate of this node. */

import test from 'ava';
import { UnappliedBlocks } from '../../../src/engine/forge/unapplied-blocks.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { ChainMaker, keyPairOf, makeNetwork, publicKeyOf, signBlock, verify } from '../../support/chain-maker.ts';
import { forkOf, grown } from '../chain/lone-chain.ts';

/** A chain of five blocks, and a rival of its fourth block. */
function setUp(generation: 2 | 3) {
  const maker = new ChainMaker(makeNetwork({ generation }));
  const { rules, state, network } = maker;
  grown(maker, 2);
  const fork = forkOf(maker);
  const late = fork.forge({ missedSlots: 1 });
  const [first] = grown(maker, 2);
  const slotOf = ({ timestamp }: Block): number => slotAt(timestamp, network.params);
  const found: Block[] = [];
  const now = { slot: slotOf(late), isForeign: true };
  const own = new Set([first!, late].map(({ generatorPublicKey }) => generatorPublicKey));
  const blocks = new UnappliedBlocks({
    chain: { rules, state, tip: { header: maker.tip }, verify, currentSlot: () => now.slot },
    isOwn: (publicKey) => own.has(publicKey),
    onFound: (block) => {
      found.push(block);
      return now.isForeign;
    },
  });
  const noted = (...given: readonly Block[]): readonly Block[] => {
    found.length = 0;
    for (const block of given) blocks.note(block);
    return [...found];
  };
  const keyOf = ({ generatorPublicKey }: Block): KeyPair =>
    network.delegates.find((each) => publicKeyOf(each) === generatorPublicKey)!;
  return { maker, fork, first: first!, late, now, slotOf, own, noted, keyOf, blocks };
}

for (const generation of [2, 3] as const) {
  const name = `generation ${generation}: `;

  test(`${name}a rival that a delegate of this node signed counts, a block of the chain does not`, (t) => {
    const { first, late, noted, own } = setUp(generation);
    t.deepEqual(noted(first, late), [late]);
    own.delete(late.generatorPublicKey);
    t.deepEqual(noted(late), []);
  });

  test(`${name}a rival counts for a round, and not before its slot`, (t) => {
    const { late, now, slotOf, noted, maker } = setUp(generation);
    const { activeDelegates } = maker.network.params;
    for (const [ageSlots, isFound] of [
      [-1, false],
      [0, true],
      [activeDelegates, true],
      [activeDelegates + 1, false],
    ] as const) {
      now.slot = slotOf(late) + ageSlots;
      t.is(noted(late).length > 0, isFound, `${ageSlots} slots old`);
    }
  });

  test(`${name}a block with a wrong signature is refused`, (t) => {
    const { late, noted, keyOf, first } = setUp(generation);
    const forged = { ...signBlock(late, {}, keyOf(first)), generatorPublicKey: late.generatorPublicKey };
    const error = t.throws(() => noted(forged), { instanceOf: BlockRejected });
    t.is(error?.code, 'BLOCK_SIGNATURE_INVALID');
  });
}

test('generation 2: a block whose ancestors are unknown does not count, because it can belong to another network', (t) => {
  const { fork, late, noted, own, now, slotOf, keyOf } = setUp(2);
  const [second, third] = grown(fork, 2) as [Block, Block];
  for (const { generatorPublicKey } of [second, third]) own.add(generatorPublicKey);
  now.slot = slotOf(third);
  t.deepEqual(noted(second, third), []);
  // The parent of the rival is on the chain. The rival itself need not be a block of a delegate of this node.
  own.delete(late.generatorPublicKey);
  t.deepEqual(noted(late, second, third), [second, third]);
  // `UnappliedBlocks` also finds a block whose parent this node has reverted.
  const again = setUp(2);
  const [next] = grown(again.fork, 1) as [Block];
  again.own.add(next.generatorPublicKey);
  again.now.slot = again.slotOf(next);
  again.blocks.reverted([again.late]);
  t.deepEqual(again.noted(next), [next]);
  // The signature does not cover the height, so a peer could send a copy with another height.
  t.deepEqual(noted({ ...third, height: third.height + 1 }, { ...third, height: third.height - 1 }), []);
  const strange = signBlock(second, { previousBlockId: late.id }, keyOf(late));
  t.throws(() => noted({ ...strange, blockSignature: second.blockSignature }), { instanceOf: BlockRejected });
});

test('generation 2: only blocks of registered delegates link a block with the chain', (t) => {
  const { late, noted, own, now, slotOf, keyOf } = setUp(2);
  own.add(late.generatorPublicKey);
  const linkedBy = (parent: Block): Block =>
    signBlock(late, { height: parent.height + 1, previousBlockId: parent.id }, keyOf(late));
  now.slot = slotOf(late);
  const stranger = signBlock(late, {}, keyPairOf('stranger'));
  t.deepEqual(noted(stranger, linkedBy(stranger)), []);
  t.deepEqual(noted(late, linkedBy(late)), [late, linkedBy(late)]);
});

test('generation 3: a block near the tip counts although its ancestors are unknown, and no other block does', (t) => {
  const { fork, noted, own, now, slotOf, keyOf, maker } = setUp(3);
  const [second] = grown(fork, 1) as [Block];
  own.add(second.generatorPublicKey);
  now.slot = slotOf(second);
  const { activeDelegates } = maker.network.params;
  const at = (height: number): Block => signBlock(second, { height, previousBlockId: '1' }, keyOf(second));
  const [near, far] = [at(maker.tip.height + activeDelegates), at(maker.tip.height + activeDelegates + 1)];
  now.isForeign = false;
  t.deepEqual(noted(near, far), [near], 'a block of this node does not show a branch of another node');
  // The branch of the other node can be shorter or longer than the chain of this node. `UnappliedBlocks` therefore also
  // finds a block whose height is near the height of the last block that the other node signed.
  now.isForeign = true;
  t.deepEqual(noted(near, far), [near, far]);
  const farther = at(far.height + activeDelegates + 1);
  t.deepEqual(noted(farther), []);
});
