import test from 'ava';
import { earlierHeight, staleTipS, unusedSlotsMin, type BlockState } from '../../src/cli/doctor/stale-tip.ts';

const BLOCK_TIME_S = 10;
/** Returns a tip and the block that is `blocks` heights below it. Between the two, `unused` slots have no block. */
function chain(unused: number, blocks = 100): { readonly tip: BlockState; readonly earlier: BlockState } {
  return {
    tip: { height: 1000, timestamp: 100_000 },
    earlier: { height: 1000 - blocks, timestamp: 100_000 - (blocks + unused) * BLOCK_TIME_S },
  };
}
const after = (slots: number, height = 1000) => ({ height, secondsSinceEpoch: 100_000 + slots * BLOCK_TIME_S });

test('a network without recent gaps has a stale tip after three unused slots, not during the third', (t) => {
  t.is(staleTipS(chain(0), after(3.9), BLOCK_TIME_S), undefined);
  t.is(staleTipS(chain(0), after(4), BLOCK_TIME_S), 40);
});

test('the more slots usually stay empty, the longer the wait, up to ten slots', (t) => {
  const slotsMin = [0, 3, 4, 11, 34, 50, 101, 100_000].map((unused) => {
    const { tip, earlier } = chain(unused);
    return unusedSlotsMin(tip, earlier, BLOCK_TIME_S);
  });
  t.deepEqual(slotsMin, [3, 3, 4, 5, 7, 9, 10, 10]);
  t.is(staleTipS(chain(34), after(7), BLOCK_TIME_S), undefined);
  t.is(staleTipS(chain(34), after(8), BLOCK_TIME_S), 80);
});

test('the fewer blocks the chain has, the longer the wait', (t) => {
  const slotsMin = [0, 1, 8, 19, 20].map((blocks) => {
    const { tip, earlier } = chain(0, blocks);
    return unusedSlotsMin(tip, earlier, BLOCK_TIME_S);
  });
  t.deepEqual(slotsMin, [10, 9, 4, 4, 3]);
  const { tip } = chain(0);
  t.is(staleTipS({ tip, earlier: undefined }, after(10), BLOCK_TIME_S), undefined);
  t.is(staleTipS({ tip, earlier: undefined }, after(11), BLOCK_TIME_S), 110);
  t.is(staleTipS({ tip: undefined, earlier: undefined }, after(100), BLOCK_TIME_S), undefined);
});

test('a network whose tip changed during the check has no stale tip', (t) => {
  t.is(staleTipS(chain(0), after(20, 1001), BLOCK_TIME_S), undefined);
});

test('the tip is compared with a block of its last round, never with the genesis block', (t) => {
  t.deepEqual([1, 2, 50, 103, 104, 1000].map(earlierHeight), [2, 2, 2, 2, 3, 899]);
});
