import test from 'ava';
import { FirstRound, missedBlocks } from '../../src/cli/devnet/missed-blocks.ts';

const PARAMS = { activeDelegates: 4, blockTimeS: 10 };

const counts = (missed: readonly number[]) =>
  missed.map((each, index) => ({ publicKey: `${index}`, produced: 3, missed: each }));

/** The missed blocks that a devnet shows, if the given delegates forged the first blocks in the given slots. */
function shownBy(...blocks: readonly (readonly [forger: number, slot: number])[]) {
  const client = {
    firstBlocks: () =>
      Promise.resolve(blocks.map(([forger, slot]) => ({ generatorPublicKey: `${forger}`, timestamp: 10 * slot }))),
  };
  const firstRound = new FirstRound(PARAMS);
  return async (height: number, missed: readonly number[]) => {
    const exempt = await firstRound.delegateWithoutTurn(height, counts(missed), client);
    return counts(missed).map((each) => missedBlocks(each, exempt));
  };
}

test('the delegate that has no slot in the first round has not missed a block', async (t) => {
  const shown = shownBy([3, 7], [0, 8], [1, 9]);
  t.deepEqual(await shown(3, [0, 0, 0, 0]), [0, 0, 0, 0]);
  t.deepEqual(await shown(4, [0, 0, 1, 0]), [0, 0, 0, 0]);
  t.deepEqual(await shown(40, [2, 0, 3, 0]), [2, 0, 2, 0]);
});

test('after an empty slot in the first round, each delegate had a slot, and each missed block counts', async (t) => {
  t.deepEqual(await shownBy([3, 7], [0, 8], [2, 10])(4, [0, 1, 0, 0]), [0, 1, 0, 0]);
  t.deepEqual(await shownBy([0, 8], [1, 9], [0, 12])(4, [0, 0, 1, 1]), [0, 0, 1, 1]);
});
