import test from 'ava';
import type { Block } from '../../src/dashboard/answers.ts';
import { pastRounds, unknownSlots } from '../../src/dashboard/past-rounds.ts';
import { madeBlock } from './made-block.ts';

const DELEGATES = 5;
const BLOCK_TIME_S = 10;
const FIRST_SLOT = 1002;

/**
 * Returns the genesis block and the blocks of `slots` slots from `FIRST_SLOT` on. Each slot has a block of the slot
 * owner, except the slots in `leftOut`. The numbers in `leftOut` count from `FIRST_SLOT`.
 */
function chain(slots: number, leftOut: readonly number[] = []): readonly Block[] {
  const blocks: Block[] = [blockAt(1, 0)];
  for (let slot = 0; slot < slots; slot++)
    if (!leftOut.includes(slot)) blocks.push(blockAt(blocks.length + 1, FIRST_SLOT + slot));
  return blocks;
}

function blockAt(height: number, slot: number): Block {
  const generatorPublicKey = `key${slot % DELEGATES}`;
  return madeBlock({ height, timestamp: slot * BLOCK_TIME_S, generatorPublicKey });
}

function roundsOf(blocks: readonly Block[], forgers?: ReadonlyMap<number, string>) {
  const request = { blocks, blockTimeS: BLOCK_TIME_S, activeDelegates: DELEGATES };
  return pastRounds(forgers === undefined ? request : { ...request, forgers });
}

test('only finished rounds are shown, the newest first, and the first one lacks the genesis slot', (t) => {
  t.deepEqual(roundsOf(chain(3)), []);
  const [only, none] = roundsOf(chain(4));
  t.is(none, undefined);
  t.like(only, { number: 1, forged: 4, missed: 0 });
  t.deepEqual(
    roundsOf(chain(4 + 5 + 5 + 2)).map(({ number, forged }) => [number, forged]),
    [
      [3, 5],
      [2, 5],
      [1, 4],
    ],
  );
});

test('a missed slot belongs to the delegate with the same place later in the round', (t) => {
  // Counted from `FIRST_SLOT`, the second round has slots 4 to 9. Slot 4 is missed, and slot 9 has the same delegate.
  const [second] = roundsOf(chain(10, [4]));
  t.like(second, { number: 2, forged: 5, missed: 1 });
  const missed = second?.slots.filter(({ block }) => block === undefined);
  t.deepEqual(missed, [{ slot: FIRST_SLOT + 4, block: undefined, forger: `key${(FIRST_SLOT + 4) % DELEGATES}` }]);
});

test('the slot of a delegate without a block in a round is unknown until the node names its owner', (t) => {
  // Counted from `FIRST_SLOT`, slots 5 and 10 belong to the same delegate. Both slots are missed.
  const blocks = chain(11, [5, 10]).slice(0, 10);
  const rounds = roundsOf([...blocks, blockAt(10, FIRST_SLOT + 11)]);
  const unknown = unknownSlots(rounds);
  t.deepEqual(unknown, [FIRST_SLOT + 5, FIRST_SLOT + 10]);
  const named = roundsOf([...blocks, blockAt(10, FIRST_SLOT + 11)], new Map(unknown.map((slot) => [slot, 'sleeper'])));
  t.deepEqual(unknownSlots(named), []);
  t.is(named[0]?.slots.filter(({ forger }) => forger === 'sleeper').length, 2);
});

test('a round with a missing block is left out, and so is the next; order and duplicates have no effect', (t) => {
  const blocks = chain(14);
  t.deepEqual(
    roundsOf(blocks.filter(({ height }) => height !== 5)).map(({ number }) => number),
    [3],
  );
  t.deepEqual(
    roundsOf(blocks.slice(5)).map(({ number }) => number),
    [3],
  );
  t.deepEqual(roundsOf([...blocks, ...blocks].reverse()), roundsOf(blocks));
});

test('for a round in which the network stood still, only the latest slots are shown', (t) => {
  const blocks = [...chain(4), ...[0, 1, 2, 3, 4].map((index) => blockAt(6 + index, FIRST_SLOT + 5000 + index))];
  const [second] = roundsOf(blocks);
  t.is(second?.slots.length, 2 * DELEGATES + 1);
  t.is(second?.forged, 5);
});
