import test from 'ava';
import { addressOf } from '../../../src/crypto/keys.ts';
import { applyDpos } from '../../../src/protocol/gen2/dpos.ts';
import { NO_EXCEPTIONS, type Exceptions } from '../../../src/protocol/params.ts';
import { delegatesByWeight, shuffled } from '../../../src/protocol/rounds.ts';
import type { Account, Delegate } from '../../../src/protocol/state.ts';
import type { KeyPair } from '../../../src/protocol/types.ts';
import { ChainMaker, LSK, addressOfPair, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';
import { MemoryState } from '../../support/memory-state.ts';

const rewards = { milestones: [1000n], offset: 50, distance: 10_000 };
const network = makeNetwork({ generation: 2, rewards });
const [alice, bob, carol] = network.accounts as [KeyPair, KeyPair, KeyPair];
const [delta] = network.delegates as [KeyPair];

/**
 * The balance of the account `funder` after the genesis block. This account votes for every delegate, so this balance
 * is also the weight of every delegate at the start.
 */
const WEIGHT = 10n ** 16n - 10n * 10_000n * LSK;

function accountOf(maker: ChainMaker, publicKey: string): Account {
  const account = maker.state.account(addressOf(publicKey));
  if (account === undefined) throw new Error(`no account of ${publicKey}`);
  return account;
}

function delegateOf(maker: ChainMaker, keyPair: KeyPair): Delegate {
  const delegate = maker.state.delegate(publicKeyOf(keyPair));
  if (delegate === undefined) throw new Error('no such delegate');
  return delegate;
}

function withExceptions(exceptions: Partial<Exceptions>): Exceptions {
  return { ...NO_EXCEPTIONS, ...exceptions };
}

/** Returns the sum of the balances of all accounts that vote for the delegate with this public key. */
function votedBalance(maker: ChainMaker, publicKey: string): bigint {
  let sum = 0n;
  for (const { votes, balance } of maker.state.accounts()) if (votes.includes(publicKey)) sum += balance;
  return sum;
}

test('the genesis block ends its own round: weights are visible, delegates ranked, no block is missed', (t) => {
  const maker = new ChainMaker(network);
  const delegates = [...maker.state.delegates()];
  t.is(delegates.length, 101);
  t.true(delegates.every(({ voteWeight, pendingVoteWeight }) => voteWeight === WEIGHT && pendingVoteWeight === 0n));
  // All weights are equal, so the order of the public keys decides the ranks.
  const sorted = delegates.sort((a, b) => (a.publicKey < b.publicKey ? -1 : 1));
  t.deepEqual(
    sorted.map(({ rank }) => rank),
    sorted.map((_, index) => index + 1),
  );
  t.true(delegates.every(({ publicKey }) => accountOf(maker, publicKey).missedBlocks === 0));
  t.is(accountOf(maker, publicKeyOf(network.generator)).producedBlocks, 1);
  t.is(accountOf(maker, publicKeyOf(network.generator)).balance, -(10n ** 16n));
  t.deepEqual(maker.rules.forgers(maker.state, 2), shuffled(delegatesByWeight(maker.state, maker.rules.params), 1));
  t.is(maker.rules.finalizedHeight(maker.state), 0);
  t.is(maker.rules.maxHeightPrevoted(maker.state), 0);
});

test('weights change only at the end of the round, to the balances of the voters', (t) => {
  const maker = new ChainMaker(network);
  const vote = { kind: 'vote', votes: [`+${publicKeyOf(delta)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(alice, vote), maker.transfer(network.funder, bob, 7n * LSK)] });
  const lost = 7n * LSK + 10_000_000n;
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT);
  t.is(delegateOf(maker, delta).pendingVoteWeight, 10_000n * LSK - LSK - lost);
  maker.growTo(100);
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT);
  t.is(delegateOf(maker, delta).rank, 60);
  maker.growTo(101);
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT - lost + 9_999n * LSK);
  t.is(delegateOf(maker, delta).voteWeight, votedBalance(maker, publicKeyOf(delta)));
  t.is(delegateOf(maker, delta).pendingVoteWeight, 0n);
  t.is(delegateOf(maker, delta).rank, 1);
  t.is(maker.state.roundList(2)?.[0], publicKeyOf(delta));
  t.deepEqual(maker.rules.forgers(maker.state, 102), shuffled(maker.state.roundList(2) ?? [], 2));
});

test('a round end pays fees and rewards by block, the rest to the last forger, and counts missed blocks', (t) => {
  const maker = new ChainMaker(network);
  const vote = { kind: 'vote', votes: [`+${publicKeyOf(delta)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(alice, vote), maker.transfer(bob, alice, LSK)] });
  while (maker.tip.height < 101) maker.forge({ missedSlots: maker.tip.height === 60 ? 7 : 0 });

  // The fees of the round are 1.1 LSK (110,000,000 beddows). The forger of each of the 101 blocks gets 1,089,108
  // beddows, and the forger of the last block also gets the remaining 92 beddows. The reward of each block at the
  // heights 50 to 101 is 1,000 beddows.
  const blocksOf = new Map<string, { blocks: number; rewarded: number }>();
  for (let height = 1; height <= 101; height += 1) {
    const key = maker.state.header(height)?.generatorPublicKey ?? '';
    const { blocks = 0, rewarded = 0 } = blocksOf.get(key) ?? {};
    blocksOf.set(key, { blocks: blocks + 1, rewarded: rewarded + (height >= 50 ? 1 : 0) });
  }
  let missed = 0;
  for (const { publicKey } of maker.state.delegates()) {
    const { blocks, rewarded } = blocksOf.get(publicKey) ?? { blocks: 0, rewarded: 0 };
    const account = accountOf(maker, publicKey);
    const rest = publicKey === maker.tip.generatorPublicKey ? 92n : 0n;
    t.is(account.forgedFees, BigInt(blocks) * 1_089_108n + rest);
    t.is(account.forgedRewards, BigInt(rewarded) * 1000n);
    t.is(account.balance, account.forgedFees + account.forgedRewards);
    t.is(account.producedBlocks, blocks);
    t.is(account.missedBlocks, blocks === 0 ? 1 : 0);
    missed += account.missedBlocks;
  }
  t.true(missed >= 7);
  // The generator of the genesis block also gets a share of the fees, because the genesis block is a block of the first
  // round.
  t.is(accountOf(maker, publicKeyOf(network.generator)).balance, -(10n ** 16n) + 1_089_108n);
});

test('earnings of a forger count for its votes from the same round end on', (t) => {
  const maker = new ChainMaker(network);
  maker.forge({ transactions: [maker.transfer(alice, delta, 100n * LSK)] });
  const vote = { kind: 'vote', votes: [`+${publicKeyOf(delta)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(delta, vote)] });
  maker.growTo(202);
  t.true(accountOf(maker, publicKeyOf(delta)).forgedRewards > 0n);
  for (const { publicKey, voteWeight } of maker.state.delegates()) t.is(voteWeight, votedBalance(maker, publicKey));
});

test('a change of more than 2^53 beddows in one round is rounded to a double', (t) => {
  const maker = new ChainMaker(network);
  const change = 2n ** 53n + 1n;
  maker.forge({ transactions: [maker.transfer(network.funder, bob, change - 10_000_000n)] });
  t.is(delegateOf(maker, delta).pendingVoteWeight, -change);
  maker.growTo(101);
  // The reference computes the change of the weight as a double, and a double rounds `change` to 2^53. The weight
  // therefore differs by one beddow from the sum of the voters' balances. The end of the next round does not correct
  // this difference.
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT - 2n ** 53n);
  t.is(votedBalance(maker, publicKeyOf(delta)), WEIGHT - change);
  maker.growTo(202);
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT - 2n ** 53n);
});

test('a double rounds half to even, up and down', (t) => {
  const maker = new ChainMaker(network);
  const change = 2n ** 53n + 3n;
  maker.forge({ transactions: [maker.transfer(network.funder, bob, change - 10_000_000n)] });
  maker.growTo(101);
  t.is(delegateOf(maker, delta).voteWeight, WEIGHT - (2n ** 53n + 4n));
});

test('a sum above 2^54 beddows is stored as the decimal text of its double', (t) => {
  const small = makeNetwork({ generation: 2, delegates: 1 });
  const { state } = new ChainMaker(small);
  const [delegate] = [...state.delegates()] as [Delegate];
  const bookedOf = (pendingVoteWeight: bigint): bigint | undefined => {
    const world = new MemoryState();
    world.append(small.genesis, (writer) => {
      writer.setDelegate({ ...delegate, voteWeight: 0n, pendingVoteWeight });
      applyDpos(writer, small.genesis, small.params);
    });
    return world.delegate(delegate.publicKey)?.voteWeight;
  };
  // 2^54 beddows are more than the supply of a test network, so the test sets the pending weight directly. The exact
  // value of the double 2^54 + 8 ends with the digits 92, but its shortest decimal text ends with 90.
  t.is(bookedOf(2n ** 54n + 8n), 18_014_398_509_481_990n);
  t.is(bookedOf(-(2n ** 54n + 8n)), -18_014_398_509_481_990n);
  t.is(bookedOf(2n ** 54n + 4n), 2n ** 54n + 4n);
  // No chain in use has an amount of 2^80 beddows, but such an amount must not make the node fail.
  t.is(bookedOf(2n ** 80n), 2n ** 80n);
});

test('ranks are fixed until the round ends; equal weights are ranked by key', (t) => {
  const three = makeNetwork({ generation: 2, delegates: 4, votes: [{ account: 2, delegates: [3] }] });
  const maker = new ChainMaker(three);
  const ranks = (): number[] => three.delegates.map((keyPair) => delegateOf(maker, keyPair).rank);
  const byKey = [0, 1, 2].sort((a, b) =>
    publicKeyOf(three.delegates[a] as KeyPair) < publicKeyOf(three.delegates[b] as KeyPair) ? -1 : 1,
  );
  const expected = [0, 1, 2].map((index) => byKey.indexOf(index) + 2);
  t.deepEqual(ranks(), [...expected, 1]);
  const unvote = { kind: 'vote', votes: [`-${publicKeyOf(three.delegates[3] as KeyPair)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(three.accounts[2] as KeyPair, unvote)] });
  maker.growTo(100);
  t.deepEqual(ranks(), [...expected, 1]);
  maker.growTo(101);
  const all = [0, 1, 2, 3].sort((a, b) =>
    publicKeyOf(three.delegates[a] as KeyPair) < publicKeyOf(three.delegates[b] as KeyPair) ? -1 : 1,
  );
  t.deepEqual(
    ranks(),
    [0, 1, 2, 3].map((index) => all.indexOf(index) + 1),
  );
});

test('a delegate enters the list of the round after its registration, and has no rank before', (t) => {
  const hundred = makeNetwork({ generation: 2, delegates: 100 });
  const maker = new ChainMaker(hundred);
  const registration = { kind: 'delegate', username: 'carol' } as const;
  maker.forge({ transactions: [maker.transaction(carol, registration)] });
  t.is(maker.rules.forgers(maker.state, 3).length, 100);
  t.is(delegateOf(maker, carol).rank, 0);
  maker.growTo(101);
  t.is(maker.rules.forgers(maker.state, 102).length, 101);
  t.is(delegateOf(maker, carol).rank, 101);
  t.is(accountOf(maker, publicKeyOf(carol)).missedBlocks, 0);
});

test('in excepted rounds the list includes delegates registered meanwhile', (t) => {
  const exceptions = withExceptions({ ignoreDelegateListCacheForRounds: new Set([1]) });
  const maker = new ChainMaker(makeNetwork({ generation: 2, delegates: 100, exceptions }));
  t.is(maker.rules.forgers(maker.state, 2).length, 100);
  maker.forge({ transactions: [maker.transaction(carol, { kind: 'delegate', username: 'carol' })] });
  t.is(maker.rules.forgers(maker.state, 3).length, 101);
  maker.growTo(101);
  const { producedBlocks, missedBlocks } = accountOf(maker, publicKeyOf(carol));
  t.is(missedBlocks, producedBlocks === 0 ? 1 : 0);
});

test('missed blocks of an excepted round follow the list that forged it, not the weights at its end', (t) => {
  const exceptions = withExceptions({ ignoreDelegateListCacheForRounds: new Set([1]) });
  const crowded = makeNetwork({ generation: 2, delegates: 102, exceptions });
  const maker = new ChainMaker(crowded);
  const byKey = [...maker.state.delegates()].sort((a, b) => (a.publicKey < b.publicKey ? -1 : 1));
  const outsider = byKey.at(-1)?.publicKey ?? '';
  t.false(maker.rules.forgers(maker.state, 2).includes(outsider));
  const vote = { kind: 'vote', votes: [`+${outsider}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(crowded.accounts[0] as KeyPair, vote)] });
  maker.growTo(101);
  t.is(maker.state.roundList(2)?.[0], outsider);
  t.is(accountOf(maker, outsider).missedBlocks, 0);
  for (const publicKey of byKey.slice(0, 101).map((each) => each.publicKey)) {
    const { producedBlocks, missedBlocks } = accountOf(maker, publicKey);
    t.is(missedBlocks, producedBlocks === 0 ? 1 : 0);
  }
});

test('an excepted round multiplies its earnings', (t) => {
  const factors = { rewardsFactor: 2, feesFactor: 2, feesBonus: 10_000_000n };
  const exceptions = withExceptions({ rounds: new Map([[1, factors]]) });
  const maker = new ChainMaker(makeNetwork({ generation: 2, rewards, exceptions }));
  maker.forge({ transactions: [maker.transfer(alice, bob, LSK)] });
  maker.growTo(101);
  // The exception doubles the fee of 10,000,000 beddows and adds 10,000,000 beddows (`feesBonus`). The forger of each
  // of the 101 blocks gets 297,029 beddows, and the forger of the last block also gets the remaining 71 beddows.
  const account = maker.state.account(addressOf(maker.tip.generatorPublicKey));
  t.is((account?.forgedFees ?? 0n) % 297_029n, 71n);
  let rewarded = 0n;
  for (const { forgedRewards } of maker.state.accounts()) rewarded += forgedRewards;
  t.is(rewarded, 52n * 2000n);
});

test('only the lists of the current and the previous round are kept', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(304);
  t.deepEqual(maker.state.roundListIndexes(), [3, 4]);
  t.is(maker.state.bftState(), undefined);
  t.is(addressOfPair(alice), addressOf(publicKeyOf(alice)));
});
