import test from 'ava';
import type { Block, Forger } from '../../src/dashboard/answers.ts';
import { roundOf, roundSlots, nextSlotsOf } from '../../src/dashboard/round.ts';
import { madeBlock } from './made-block.ts';

const BLOCK_TIME_S = 10;
/** First slot in which the network of these tests forged. The number is not a multiple of 101. */
const FIRST_SLOT = 5000;

function forgersFrom(currentSlot: number): readonly Forger[] {
  return Array.from({ length: 101 }, (_, ahead) => {
    const nextSlot = currentSlot + 1 + ahead;
    const place = nextSlot % 101;
    return { username: `d${place}`, address: `${place}L`, publicKey: `key${place}`, nextSlot };
  });
}

/**
 * Returns the genesis block and the blocks of `slots` slots from `FIRST_SLOT` on, newest first. Each slot has a block,
 * except the slots in `leftOut`. The numbers in `leftOut` count from `FIRST_SLOT`.
 */
function chain(slots: number, leftOut: readonly number[] = []): readonly Block[] {
  const blocks = [blockAt(1, 0)];
  for (let slot = 0; slot < slots; slot++) {
    if (!leftOut.includes(slot)) blocks.push(blockAt(blocks.length + 1, (FIRST_SLOT + slot) * BLOCK_TIME_S));
  }
  return blocks.reverse();
}

function blockAt(height: number, timestamp: number): Block {
  return madeBlock({ height, timestamp, id: String(height) });
}

function roundAt(slots: number, leftOut: readonly number[] = []) {
  const currentSlot = FIRST_SLOT + slots - 1;
  return roundSlots({
    blocks: chain(slots, leftOut),
    forgers: forgersFrom(currentSlot),
    blockTimeS: BLOCK_TIME_S,
    currentSlot,
  });
}

test('the first round has a hundred slots, because nobody forges the genesis block', (t) => {
  const { number, slots, forged, missed } = roundAt(40);
  t.is(number, 1);
  t.is(slots.length, 100);
  t.is(forged, 40);
  t.is(missed, 0);
  t.deepEqual(
    slots.map(({ slot }) => slot),
    Array.from({ length: 100 }, (_, index) => FIRST_SLOT + index),
  );
});

test('a missed slot names its delegate, and makes the round one slot longer', (t) => {
  const { slots, missed } = roundAt(40, [7]);
  t.is(missed, 1);
  t.is(slots.length, 101);
  const lost = slots.find(({ state }) => state === 'missed');
  t.is(lost?.slot, FIRST_SLOT + 7);
  t.is(lost?.forger?.username, `d${(FIRST_SLOT + 7) % 101}`);
});

test('a later round begins in the slot after the last block of the previous round', (t) => {
  const { number, slots, forged } = roundAt(150);
  t.is(number, 2);
  t.is(slots.length, 101);
  t.is(slots[0]?.block?.height, 102);
  t.is(forged, 50);
});

test('the present slot counts as missed only when it is over', (t) => {
  const { slots, missed } = roundAt(40, [39]);
  t.is(missed, 0);
  t.is(slots.find(({ slot }) => slot === FIRST_SLOT + 39)?.state, 'now');
  t.is(slots.length, 100);
});

test("a block that is newer than the browser's clock is shown", (t) => {
  const blocks = chain(40);
  const currentSlot = FIRST_SLOT + 38;
  const { slots } = roundSlots({ blocks, forgers: forgersFrom(currentSlot), blockTimeS: BLOCK_TIME_S, currentSlot });
  t.is(slots.filter(({ state }) => state === 'forged').length, 40);
  t.is(slots.length, 100);
});

test('a limited number of slots is drawn after a long time without blocks', (t) => {
  const currentSlot = FIRST_SLOT + 100_000;
  const forgers = forgersFrom(currentSlot);
  const { slots } = roundSlots({ blocks: chain(3), forgers, blockTimeS: BLOCK_TIME_S, currentSlot });
  t.true(slots.length < 400);
});

test('rounds are numbered from 1 and have 101 heights', (t) => {
  t.deepEqual(
    [1, 101, 102, 202, 203].map((height) => roundOf(height)),
    [1, 1, 2, 2, 3],
  );
});

test("a delegate's next slot is its first to come in the round; after its slot it has none", (t) => {
  const round = roundAt(40, [7]);
  const nextSlots = nextSlotsOf(round);
  const forgerAt = (slot: number): string => `key${(FIRST_SLOT + slot) % 101}`;
  t.is(nextSlots.get(forgerAt(40)), FIRST_SLOT + 40);
  t.is(nextSlots.get(forgerAt(99)), FIRST_SLOT + 99);
  t.is(nextSlots.get(forgerAt(20)), undefined);
  t.is(round.currentSlot, FIRST_SLOT + 39);
});

test('a delegate that has not forged in the present slot yet keeps it as its next slot', (t) => {
  const nextSlots = nextSlotsOf(roundAt(40, [39]));
  t.is(nextSlots.get(`key${(FIRST_SLOT + 39) % 101}`), FIRST_SLOT + 39);
});
