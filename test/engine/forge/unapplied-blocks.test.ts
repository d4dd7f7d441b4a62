/** Tests which of the blocks that a node does not apply show a signature of an enabled delegate. */

import test from 'ava';
import { UnappliedBlocks } from '../../../src/engine/forge/unapplied-blocks.ts';
import { BlockRejected } from '../../../src/protocol/verdict.ts';
import { slotAt } from '../../../src/protocol/slots.ts';
import type { Block, KeyPair } from '../../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, publicKeyOf, signBlock, verify } from '../../support/chain-maker.ts';
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
  const now = { slot: slotOf(late) };
  const enabled = new Set([first!, late].map(({ generatorPublicKey }) => generatorPublicKey));
  const blocks = new UnappliedBlocks({
    chain: { rules, state, verify, currentSlot: () => now.slot },
    isEnabled: (publicKey) => enabled.has(publicKey),
    onFound: (block) => void found.push(block),
  });
  const noted = (...given: readonly Block[]): readonly Block[] => {
    found.length = 0;
    for (const block of given) blocks.note(block);
    return [...found];
  };
  const keyOf = ({ generatorPublicKey }: Block): KeyPair =>
    network.delegates.find((each) => publicKeyOf(each) === generatorPublicKey)!;
  return { maker, fork, first: first!, late, now, slotOf, enabled, noted, keyOf };
}

for (const generation of [2, 3] as const) {
  const name = `generation ${generation}: `;

  test(`${name}a rival that an enabled delegate signed counts, a block of the chain does not`, (t) => {
    const { first, late, noted, enabled } = setUp(generation);
    t.deepEqual(noted(first, late), [late]);
    enabled.delete(late.generatorPublicKey);
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

  test(`${name}a block whose ancestors are unknown does not count, because it can belong to another network`, (t) => {
    const { fork, late, noted, enabled, now, slotOf } = setUp(generation);
    const [second, third] = grown(fork, 2);
    for (const { generatorPublicKey } of [second!, third!]) enabled.add(generatorPublicKey);
    now.slot = slotOf(third!);
    t.deepEqual(noted(second!, third!), []);
    // The parent of the rival is on the chain. The rival itself need not be a block of an enabled delegate.
    enabled.delete(late.generatorPublicKey);
    t.deepEqual(noted(late, second!, third!), [second, third]);
  });
}
