import test from 'ava';
import { fc } from '../../support/fast-check.ts';
import { NO_EXCEPTIONS } from '../../../src/protocol/params.ts';
import { applyVoteWeight } from '../../../src/protocol/tx/vote-weight.ts';
import type { Transaction } from '../../../src/protocol/types.ts';
import { LSK, TransactionWorld, nobody } from '../../support/transaction-world.ts';

const people = [0, 1, 2, 3, 4].map(nobody);
const delegates = [nobody(0), nobody(5), nobody(6)];

const person = fc.integer({ min: 0, max: people.length - 1 });
const step = fc.oneof(
  fc.record({ from: person, to: person, amount: fc.bigInt({ min: 1n, max: 400n * LSK }) }),
  fc.record({
    from: person,
    votes: fc.uniqueArray(fc.integer({ min: 0, max: delegates.length - 1 }), { minLength: 1 }),
  }),
);

/**
 * Returns a world with three delegates and five persons with funds. The first person is one of the three delegates.
 */
function worldWithDelegates(): TransactionWorld {
  const world = new TransactionWorld();
  for (const each of people) world.fund(each);
  for (const [index, delegate] of delegates.entries()) world.elect(delegate, `delegate_${index}`);
  return world;
}

function voteOf(world: TransactionWorld, from: number, chosen: readonly number[]): Transaction {
  const voter = people[from] ?? nobody(0);
  const held = world.state.account(voter.address)?.votes ?? [];
  const votes = chosen.map((index) => {
    const { publicKey } = delegates[index] ?? nobody(0);
    return `${held.includes(publicKey) ? '-' : '+'}${publicKey}`;
  });
  return world.vote(voter, ...votes);
}

test('the weight of a delegate is always the sum of the balances that vote for it', (t) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const world = worldWithDelegates();
      for (const each of steps) {
        const transaction =
          'votes' in each
            ? voteOf(world, each.from, each.votes)
            : world.transfer(people[each.from] ?? nobody(0), people[each.to] ?? nobody(0), each.amount);
        world.apply(transaction);
      }
      for (const { publicKey } of delegates) {
        const voters = [...world.state.accounts()].filter(({ votes }) => votes.includes(publicKey));
        const sum = voters.reduce((total, { balance }) => total + balance, 0n);
        t.is(world.state.delegate(publicKey)?.voteWeight, sum);
      }
    }),
    { numRuns: 40 },
  );
});

test('pending weights are stored apart from the visible weights', (t) => {
  const world = worldWithDelegates();
  const [alice, bob] = [nobody(1), nobody(2)];
  const [, favourite] = delegates;
  const publicKey = favourite?.publicKey ?? '';
  world.fund(alice, { votes: [publicKey] });
  const transaction = world.transfer(alice, bob, 3n);
  const overlay = world.applied(transaction);
  applyVoteWeight(overlay, transaction, 'pending', NO_EXCEPTIONS);
  t.like(overlay.delegate(publicKey), { voteWeight: -3n - LSK / 10n, pendingVoteWeight: -3n - LSK / 10n });
});

test('an excepted vote does not subtract its own changes from the earlier votes', (t) => {
  const world = worldWithDelegates();
  const voter = nobody(1);
  const [, favourite] = delegates;
  const publicKey = favourite?.publicKey ?? '';
  const vote = world.vote(voter, `+${publicKey}`);
  const listed = new TransactionWorld({ exceptions: { ...NO_EXCEPTIONS, roundVotes: new Set([vote.id]) } });
  listed.fund(voter);
  listed.elect(delegates[1] ?? nobody(5), 'delegate');
  world.apply(vote);
  listed.apply(vote);
  t.is(world.state.delegate(publicKey)?.voteWeight, 999n * LSK);
  t.is(listed.state.delegate(publicKey)?.voteWeight, 998n * LSK);
});
