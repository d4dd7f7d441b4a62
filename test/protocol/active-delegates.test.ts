/**
 * Tests networks with 1 to 101 delegates. In each network, a delegate must forge a block in every slot. In networks of
 * generation 3, blocks must become final.
 */

import test from 'ava';
import { minHeightActive } from '../../src/protocol/gen3/active-heights.ts';
import { bftLimits } from '../../src/protocol/gen3/bft.ts';
import { firstHeightOf } from '../../src/protocol/rounds.ts';
import { slotAt } from '../../src/protocol/slots.ts';
import { NO_EXCEPTIONS } from '../../src/protocol/params.ts';
import { ChainMaker, makeNetwork, signBlock } from '../support/chain-maker.ts';

/**
 * Number of blocks that each network forges after the end of round 4. In generation 3, rounds 1 to 3 use the list of
 * delegates that was fixed after the genesis block. Round 4 uses the list that was fixed at the end of round 1. Round 5
 * uses the list that was fixed at the end of round 2.
 */
const BEYOND = 5;

for (const generation of [2, 3] as const) {
  test(`a network of generation ${generation} with 1 to 101 delegates forges every slot`, (t) => {
    t.timeout(600_000);
    for (let delegates = 1; delegates <= 101; delegates += 1) {
      const maker = makerOf(generation, delegates);
      const first = maker.forge();
      const tip = maker.growTo(4 * delegates + BEYOND);
      const slots = slotAt(tip.timestamp, maker.rules.params) - slotAt(first.timestamp, maker.rules.params);
      t.is(slots, tip.height - first.height, `${delegates} delegates: a slot passed unused`);
      if (generation === 2) continue;
      const behind = tip.height - maker.rules.finalizedHeight(maker.state);
      // A header votes for its own block and for the `range` blocks before it. The header's own block and these `range`
      // blocks together are as many blocks as three rounds have. When the order of the delegates changes in a new
      // round, some delegates have two slots before other delegates have one. Blocks then become final later, but the
      // number of blocks that are not final must not exceed `range`.
      t.true(behind <= bftLimits(delegates).range, `${delegates} delegates: ${behind} blocks are not final`);
    }
  });
}

test('a network whose lists are used many rounds after they were fixed forges every slot and finalizes blocks', (t) => {
  for (const delegateListRoundOffset of [3, 4, 5, 7, 8, 20, 100]) {
    const maker = makerOf(3, 4, { delegateListRoundOffset });
    const first = maker.forge();
    const tip = maker.growTo(4 * (delegateListRoundOffset + 12));
    const slots = slotAt(tip.timestamp, maker.rules.params) - slotAt(first.timestamp, maker.rules.params);
    t.is(slots, tip.height - first.height, `offset ${delegateListRoundOffset}: a slot passed unused`);
    const behind = tip.height - maker.rules.finalizedHeight(maker.state);
    t.true(behind <= bftLimits(4).range, `offset ${delegateListRoundOffset}: ${behind} blocks are not final`);
    // Each delegate has been active in all rounds. `minHeightActive` looks back at most three rounds from the round of
    // the header.
    const header = maker.forge();
    const { rules, state } = maker;
    const newest = Math.ceil(header.height / 4);
    t.is(
      minHeightActive(state, header.generatorPublicKey, newest, delegateListRoundOffset, rules.params),
      firstHeightOf(newest - 3, rules.params),
      `offset ${delegateListRoundOffset}`,
    );
  }
});

test('old blocks use each list at once, and still keep the lists that the blocks of version 2 need', (t) => {
  for (const delegateListRoundOffset of [2, 8, 20]) {
    const end = 4 * (delegateListRoundOffset + 10);
    const exceptions = { ...NO_EXCEPTIONS, blockVersions: new Map([[1, { start: 2, end }]]) };
    const maker = makerOf(3, 4, { delegateListRoundOffset, exceptions });
    const template = makerOf(3, 4, { delegateListRoundOffset }).build();
    while (maker.tip.height < end) {
      const { slot, keyPair } = maker.nextSlot();
      const { id: previousBlockId, height } = maker.tip;
      const timestamp = slot * maker.rules.params.blockTimeS;
      const heights = { height: height + 1, maxHeightPreviouslyForged: 0, maxHeightPrevoted: 0 };
      maker.apply(signBlock(template, { ...heights, version: 1, timestamp, previousBlockId }, keyPair));
    }
    const tip = maker.growTo(end + 4 * (delegateListRoundOffset + 6));
    t.is(tip.version, 2, `offset ${delegateListRoundOffset}`);
    t.true(tip.height - maker.rules.finalizedHeight(maker.state) <= bftLimits(4).range);
  }
});

test('a delegate earns and counts blocks by the rounds of its own network', (t) => {
  for (const generation of [2, 3] as const) {
    const maker = makerOf(generation, 5, { rewards: { milestones: [100n], offset: 1, distance: 1000 } });
    maker.growTo(15);
    const accounts = [...maker.state.accounts()].filter(({ username }) => username !== undefined);
    t.is(accounts.length, 5);
    t.is(
      accounts.reduce((sum, { producedBlocks }) => sum + producedBlocks, 0),
      14,
    );
    // The first round contains the genesis block, so one delegate has no block in this round and counts a missed block.
    // Each later round has a block of each delegate.
    t.is(
      accounts.reduce((sum, { missedBlocks }) => sum + missedBlocks, 0),
      1,
    );
    t.is(
      accounts.reduce((sum, { forgedRewards }) => sum + forgedRewards, 0n),
      1400n,
    );
  }
});

function makerOf(generation: 2 | 3, delegates: number, changes = {}): ChainMaker {
  const offset = generation === 2 ? 0 : 2;
  return new ChainMaker(
    makeNetwork({
      generation,
      delegates,
      accounts: 0,
      activeDelegates: delegates,
      delegateListRoundOffset: offset,
      ...changes,
    }),
  );
}
