import test from 'ava';
import { NO_EXCEPTIONS } from '../../src/protocol/params.ts';
import { countMissedBlocks, countProducedBlock, earningsOfRound, payEarnings } from '../../src/protocol/payout.ts';
import { emptyAccount } from '../../src/protocol/state.ts';
import { headerWith, keyNumber, paramsWith } from '../support/fixtures.ts';
import { MemoryState } from '../support/memory-state.ts';

const addressOf = (publicKey: string): string => `${Number(`0x${publicKey}`)}L`;

/**
 * Returns the 101 headers of round 1. Delegate 1 has forged the first three blocks. Delegates 2 to 98 have forged one
 * block each. Delegate 7 has also forged the last block.
 */
function round(fees: bigint): ReturnType<typeof headerWith>[] {
  const forgers = [1, 1, 1, ...Array.from({ length: 97 }, (_, index) => index + 2), 7];
  return forgers.map((forger, index) =>
    headerWith({
      height: index + 1,
      generatorPublicKey: keyNumber(forger),
      totalFee: index === 50 ? fees : 0n,
      reward: index === 0 ? 0n : 5n,
    }),
  );
}

test('fees are divided by block, and the last forger gets the remainder', (t) => {
  const earnings = earningsOfRound(round(1_000_000_007n), 1, paramsWith());
  t.deepEqual(earnings.get(keyNumber(1)), { fees: 9_900_990n * 3n, rewards: 10n });
  t.deepEqual(earnings.get(keyNumber(2)), { fees: 9_900_990n, rewards: 5n });
  t.deepEqual(earnings.get(keyNumber(7)), { fees: 9_900_990n * 2n + 17n, rewards: 10n });
  const all = [...earnings.values()];
  t.is(
    all.reduce((sum, { fees }) => sum + fees, 0n),
    1_000_000_007n,
  );
  t.is(
    all.reduce((sum, { rewards }) => sum + rewards, 0n),
    500n,
  );
});

test('fees below one beddow per block all go to the last forger', (t) => {
  const earnings = earningsOfRound(round(100n), 1, paramsWith());
  t.deepEqual(earnings.get(keyNumber(7)), { fees: 100n, rewards: 10n });
  t.deepEqual(earnings.get(keyNumber(1)), { fees: 0n, rewards: 10n });
});

test('an excepted round multiplies rewards and fees and adds its bonus', (t) => {
  const rounds = new Map([[3, { rewardsFactor: 2, feesFactor: 2, feesBonus: 10n }]]);
  const params = paramsWith({ exceptions: { ...NO_EXCEPTIONS, rounds } });
  const plain = earningsOfRound(round(1_000n), 2, params);
  t.deepEqual(plain.get(keyNumber(2)), { fees: 9n, rewards: 5n });
  const excepted = earningsOfRound(round(1_000n), 3, params);
  t.deepEqual(excepted.get(keyNumber(2)), { fees: 19n, rewards: 10n });
  t.deepEqual(excepted.get(keyNumber(7)), { fees: 19n * 2n + 2010n - 19n * 101n, rewards: 20n });
});

test('each delegate in the list without a block in the round missed it, once', (t) => {
  const state = new MemoryState();
  for (const number of [1, 100, 101]) state.setAccount(emptyAccount(`${number}L`));
  countMissedBlocks(state, [keyNumber(1), keyNumber(100), keyNumber(102)], round(0n), addressOf);
  t.is(state.account('1L')?.missedBlocks, 0);
  t.is(state.account('100L')?.missedBlocks, 1);
  t.is(state.account('101L')?.missedBlocks, 0);
  t.is(state.account('102L'), undefined);
});

test('a block counts for its generator only if the generator has an account', (t) => {
  const state = new MemoryState();
  state.setAccount(emptyAccount('1L'));
  countProducedBlock(state, '1L');
  countProducedBlock(state, '2L');
  t.is(state.account('1L')?.producedBlocks, 1);
  t.is(state.account('2L'), undefined);
});

test('earnings are added to the balance, the totals and the delegates voted for', (t) => {
  const state = new MemoryState();
  state.setAccount({ ...emptyAccount('1L'), balance: -5n, votes: [keyNumber(1), keyNumber(9)] });
  const weights = new Map<string, bigint>();
  payEarnings(
    state,
    new Map([
      [keyNumber(1), { fees: 7n, rewards: 3n }],
      [keyNumber(2), { fees: 0n, rewards: 0n }],
    ]),
    addressOf,
    (_, publicKey, beddows) => weights.set(publicKey, (weights.get(publicKey) ?? 0n) + beddows),
  );
  const account = state.account('1L');
  t.is(account?.balance, 5n);
  t.is(account?.forgedFees, 7n);
  t.is(account?.forgedRewards, 3n);
  t.deepEqual(
    [...weights],
    [
      [keyNumber(1), 10n],
      [keyNumber(9), 10n],
    ],
  );
  t.is(state.account('2L'), undefined);
});
