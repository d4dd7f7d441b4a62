import test, { type ExecutionContext } from 'ava';
import { fc } from '../../support/fast-check.ts';
import { GENESIS_SUPPLY } from '../../../src/protocol/params.ts';
import { isLastOfRound } from '../../../src/protocol/rounds.ts';
import type { Block } from '../../../src/protocol/types.ts';
import { ChainMaker, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';
import { randomTransactions } from '../../support/random-transactions.ts';
import { paramsWith } from '../../support/fixtures.ts';

const network = makeNetwork({
  rewards: { milestones: [503n, 401n], offset: 20, distance: 90 },
  votes: [
    { account: 0, delegates: [0, 1, 2] },
    { account: 1, delegates: [2, 3] },
  ],
});

/**
 * Returns the sum of all balances plus the genesis supply. The function adds the genesis supply, because the genesis
 * generator has a negative balance of the same size.
 */
function supplyOf(maker: ChainMaker): bigint {
  return GENESIS_SUPPLY + [...maker.state.accounts()].reduce((sum, { balance }) => sum + balance, 0n);
}

/** Returns the fees and rewards of the current round. The forgers get them only at the end of the round. */
function owed(blocks: readonly Block[]): { fees: bigint; rewards: bigint } {
  const running = blocks.slice(blocks.findLastIndex(({ height }) => isLastOfRound(height, paramsWith())) + 1);
  return {
    fees: running.reduce((sum, { totalFee }) => sum + totalFee, 0n),
    rewards: running.reduce((sum, { reward }) => sum + reward, 0n),
  };
}

function checkWeights(t: ExecutionContext, maker: ChainMaker): void {
  const expected = new Map<string, bigint>();
  for (const { votes, balance } of maker.state.accounts()) {
    for (const key of votes) expected.set(key, (expected.get(key) ?? 0n) + balance);
  }
  for (const { publicKey, voteWeight } of maker.state.delegates()) {
    if (voteWeight !== (expected.get(publicKey) ?? 0n)) t.fail(`weight of ${publicKey}`);
  }
}

test('for any offered transactions a forged block applies, and the supply stays exact', (t) => {
  let included = 0;
  const kinds = new Set<string>();
  const step = fc.record({
    candidates: fc.integer({ min: 0, max: 12 }),
    missedSlots: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 30 })),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 30, size: 'max' }), fc.boolean(), (steps, long) => {
      const maker = new ChainMaker(network);
      for (const person of network.accounts) maker.know(person);
      // A run has at most 30 steps. It can reach the end of a round (height 101) only if the chain already has 90
      // blocks.
      if (long) maker.growTo(90);
      const blocks = Array.from({ length: maker.tip.height }, (_, index) => maker.state.block(index + 1) as Block);
      for (const { candidates, missedSlots, seed } of steps) {
        const transactions = randomTransactions(maker, candidates, belowFrom(seed));
        const block = maker.forge({ transactions, missedSlots });
        blocks.push(block);
        included += block.transactions.length;
        for (const { payload } of block.transactions) kinds.add(payload.kind);
        const { fees, rewards } = owed(blocks);
        const created = blocks.reduce((sum, { reward }) => sum + reward, 0n);
        if (supplyOf(maker) + fees + rewards !== GENESIS_SUPPLY + created) t.fail(`supply at ${block.height}`);
        checkWeights(t, maker);
      }
    }),
    { numRuns: 12 },
  );
  t.true(included > 200, `only ${included} transactions were included`);
  t.is(kinds.size, 5);
});

test('a chain without missed slots finalizes blocks that are two rounds deep', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(300);
  const finalized = maker.rules.finalizedHeight(maker.state);
  t.true(finalized > 300 - 2 * 101 && finalized < 300 - 101, String(finalized));
  t.true(maker.rules.maxHeightPrevoted(maker.state) > finalized);
  t.is(new Set(network.delegates.map(publicKeyOf)).size, 101);
});

/**
 * Returns a function that generates pseudorandom numbers below a limit. The same seed always gives the same numbers.
 */
function belowFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
}
