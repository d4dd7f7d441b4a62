import test from 'ava';
import { GENESIS_SUPPLY } from '../../src/protocol/params.ts';
import { milestoneAt, rewardAt, supplyAt } from '../../src/protocol/rewards.ts';
import { paramsWith } from '../support/fixtures.ts';

const testnet = paramsWith().rewards;
const mainnet = { ...testnet, offset: 1_451_520 };
const LSK = 100_000_000n;

for (const [name, rewards, table] of [
  ['a devnet', testnet, { 1: 0, 2159: 0, 2160: 5, 3_002_159: 5, 3_002_160: 4, 12_002_160: 1, 90_000_000: 1 }],
  [
    'the main network',
    mainnet,
    { 1_451_519: 0, 1_451_520: 5, 4_451_520: 4, 7_451_520: 3, 10_451_520: 2, 13_451_520: 1 },
  ],
] as const) {
  test(`${name} pays its milestones at the published heights`, (t) => {
    for (const [height, reward] of Object.entries(table)) {
      t.is(rewardAt(Number(height), rewards), BigInt(reward) * LSK, height);
    }
  });
}

test('the milestone is the first one below the offset, and the last one forever', (t) => {
  t.is(milestoneAt(1, testnet), 0);
  t.is(milestoneAt(2160, testnet), 0);
  t.is(milestoneAt(3_002_160, testnet), 1);
  t.is(milestoneAt(1_000_000_000, testnet), 4);
});

test('the supply is the genesis supply plus each reward up to the height', (t) => {
  const short = { milestones: [5n, 3n, 1n], offset: 4, distance: 3 };
  let expected = GENESIS_SUPPLY;
  for (let height = 1; height <= 30; height += 1) {
    expected += rewardAt(height, short);
    t.is(supplyAt(height, short), expected, String(height));
  }
  t.is(supplyAt(2159, testnet), GENESIS_SUPPLY);
  t.is(supplyAt(2160, testnet), GENESIS_SUPPLY + 5n * LSK);
});

test('a network without milestones pays nothing', (t) => {
  t.is(rewardAt(5000, { milestones: [], offset: 1, distance: 1 }), 0n);
});
