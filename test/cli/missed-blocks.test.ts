import test from 'ava';
import { FirstRound, missedBlocks } from '../../src/cli/devnet/missed-blocks.ts';

const counts = (missed: readonly number[]) =>
  missed.map((each, index) => ({ publicKey: `${index}`, produced: 3, missed: each }));

test('the slot of the genesis block in the first round does not count as a missed block', async (t) => {
  const client = { firstForgers: () => Promise.resolve(['0', '1', '3']) };
  const firstRound = new FirstRound(4);
  const shown = async (height: number, missed: readonly number[]) => {
    const exempt = await firstRound.delegateWithoutTurn(height, counts(missed), client);
    return counts(missed).map((each) => missedBlocks(each, exempt));
  };
  t.deepEqual(await shown(3, [0, 0, 0, 0]), [0, 0, 0, 0]);
  t.deepEqual(await shown(4, [0, 0, 1, 0]), [0, 0, 0, 0]);
  t.deepEqual(await shown(40, [2, 0, 3, 0]), [2, 0, 2, 0]);
});

test('when two delegates have no block in the first round, only one of them missed its slot', async (t) => {
  const client = { firstForgers: () => Promise.resolve(['0', '1', '0']) };
  const exempt = await new FirstRound(4).delegateWithoutTurn(4, counts([0, 0, 1, 1]), client);
  const shown = counts([0, 0, 1, 1]).map((each) => missedBlocks(each, exempt));
  t.is(
    shown.reduce((sum, missed) => sum + missed, 0),
    1,
  );
});
