import test from 'ava';
import { LSK, ChainMaker, addressOfPair, makeNetwork, publicKeyOf } from '../../support/chain-maker.ts';
import { addressOf } from '../../../src/crypto/keys.ts';
import { delegatesByWeight, shuffled } from '../../../src/protocol/rounds.ts';
import type { Account } from '../../../src/protocol/state.ts';
import type { KeyPair } from '../../../src/protocol/types.ts';

const network = makeNetwork({ rewards: { milestones: [1000n], offset: 50, distance: 10_000 } });
const [alice, bob] = network.accounts as [KeyPair, KeyPair];

const accountOf = (maker: ChainMaker, publicKey: string): Account => {
  const account = maker.state.account(addressOf(publicKey));
  if (account === undefined) throw new Error(`no account of ${publicKey}`);
  return account;
};

test('the genesis block freezes the first list, funds its accounts and counts for its generator', (t) => {
  const maker = new ChainMaker(network);
  const funded = BigInt(network.accounts.length) * 10_000n * LSK;
  t.is(accountOf(maker, publicKeyOf(network.generator)).balance, -100_000_000n * LSK);
  t.is(accountOf(maker, publicKeyOf(network.generator)).producedBlocks, 1);
  t.is(accountOf(maker, publicKeyOf(network.funder)).balance, 100_000_000n * LSK - funded);
  t.is(accountOf(maker, publicKeyOf(network.funder)).votes.length, 101);
  t.is(maker.state.account(addressOfPair(alice))?.balance, 10_000n * LSK);
  t.is(maker.state.account(addressOfPair(alice))?.publicKey, undefined);
  const delegates = [...maker.state.delegates()];
  t.is(delegates.length, 101);
  t.true(delegates.every(({ voteWeight }) => voteWeight === 100_000_000n * LSK - funded));
  t.deepEqual(maker.state.roundList(1), delegatesByWeight(maker.state, maker.rules.params));
  t.deepEqual(maker.rules.forgers(maker.state, 2), shuffled(delegatesByWeight(maker.state, maker.rules.params), 1));
  t.is(maker.rules.finalizedHeight(maker.state), 1);
  t.is(maker.rules.maxHeightPrevoted(maker.state), 0);
});

test('a round end pays fees and rewards by block, the rest to the last forger, and counts missed blocks', (t) => {
  const maker = new ChainMaker(network);
  const vote = { kind: 'vote', votes: [`+${publicKeyOf(network.delegates[0] as KeyPair)}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(alice, vote), maker.transfer(bob, alice, LSK)] });
  while (maker.tip.height < 100) maker.forge({ missedSlots: maker.tip.height === 60 ? 7 : 0 });
  t.true([...maker.state.delegates()].every((each) => accountOf(maker, each.publicKey).forgedFees === 0n));
  t.is(maker.state.roundList(2), undefined);
  const last = maker.forge();
  t.is(last.height, 101);

  const fees = 110_000_000n;
  const share = fees / 101n;
  t.is(share, 1_089_108n);
  const blocksOf = new Map<string, number>();
  const rewardsOf = new Map<string, bigint>();
  for (let height = 1; height <= 101; height += 1) {
    const header = maker.state.header(height);
    const key = header?.generatorPublicKey ?? '';
    blocksOf.set(key, (blocksOf.get(key) ?? 0) + 1);
    rewardsOf.set(key, (rewardsOf.get(key) ?? 0n) + (header?.reward ?? 0n));
  }
  let missed = 0;
  for (const { publicKey } of maker.state.delegates()) {
    const account = accountOf(maker, publicKey);
    const blocks = blocksOf.get(publicKey) ?? 0;
    const rest = publicKey === last.generatorPublicKey ? fees - share * 101n : 0n;
    t.is(account.producedBlocks, blocks);
    t.is(account.missedBlocks, blocks === 0 ? 1 : 0);
    t.is(account.forgedFees, share * BigInt(blocks) + rest);
    t.is(account.forgedRewards, rewardsOf.get(publicKey) ?? 0n);
    t.is(account.balance, account.forgedFees + account.forgedRewards);
    missed += account.missedBlocks;
  }
  t.true(missed > 0);
  t.is(accountOf(maker, publicKeyOf(network.generator)).forgedFees, share, 'the genesis block has its share');
  t.is(
    [...rewardsOf.values()].reduce((sum, reward) => sum + reward, 0n),
    52n * 1000n,
  );
  t.deepEqual(maker.state.roundList(2), delegatesByWeight(maker.state, maker.rules.params));
});

test('a delegate with new votes forges three rounds later', (t) => {
  const crowded = makeNetwork({ delegates: 102 });
  const maker = new ChainMaker(crowded);
  const first = maker.state.roundList(1) ?? [];
  const outsider = crowded.delegates.map(publicKeyOf).find((key) => !first.includes(key)) ?? '';
  const vote = { kind: 'vote', votes: [`+${outsider}`], amount: 0n } as const;
  maker.forge({ transactions: [maker.transaction(crowded.accounts[0] as KeyPair, vote)] });
  maker.growTo(202);
  t.is(maker.state.roundList(2)?.[0], outsider);
  t.false(maker.rules.forgers(maker.state, 203).includes(outsider), 'round 3 still uses the first list');
  t.true(maker.rules.forgers(maker.state, 304).includes(outsider), 'round 4 uses the list frozen after round 1');
  t.deepEqual(maker.rules.forgers(maker.state, 506), [], 'nobody knows round 6 yet');
});

test('frozen lists that are no longer needed are dropped', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(1_010);
  t.deepEqual(maker.state.roundListIndexes(), [4, 5, 6, 7, 8, 9, 10, 11]);
});

test('networks with fewer delegates have slots without an owner', (t) => {
  const maker = new ChainMaker(makeNetwork({ delegates: 5 }));
  t.is(maker.rules.forgers(maker.state, 2).length, 5);
  maker.growTo(12);
  const slots = [...Array(11).keys()].map((index) => maker.state.header(index + 2)?.timestamp ?? 0);
  t.true(slots.every((timestamp) => (timestamp / network.params.blockTimeS) % 101 < 5));
});

test('a BFT state read from its bytes leads to the same chain', (t) => {
  const maker = new ChainMaker(network);
  maker.growTo(520);
  const other = new ChainMaker(network);
  for (let height = 2; height <= 520; height += 1) {
    // Replace the stored BFT state by a copy of its bytes. The node must then decode the state from these bytes, as
    // after a restart.
    if (height % 20 === 0) other.state.setBftState(Uint8Array.from(other.state.bftState() ?? []));
    const block = maker.state.block(height);
    if (block !== undefined) other.apply(block);
  }
  t.deepEqual(other.state.bftState(), maker.state.bftState());
  t.deepEqual(other.build(), maker.build());
});
