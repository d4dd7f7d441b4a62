import test from 'ava';
import { earliestSlotOf, type ChainOfSlots } from '../../../src/engine/forge/earliest-slot.ts';
import { firstHeightOf, forgingOrder, lastHeightOf, listIndexOf, roundOf } from '../../../src/protocol/rounds.ts';
import { fc } from '../../support/fast-check.ts';

const NEW = 'ab'.repeat(32);
const OFFSET = 2;
const BLOCK_TIME_S = 10;

interface ChainShape {
  readonly activeDelegates: number;
  /** Height of the final block. No slot was missed up to it. */
  readonly finalizedHeight: number;
  /** For each block above the final block, the number of slots that were missed before it. */
  readonly missed: readonly number[];
  /** The first round whose list has the new delegate. */
  readonly firstRound: number;
  /** Index of the oldest list that the state still has. The default is 1: the state then has all lists. */
  readonly oldestList?: number;
}

function chainOf({ activeDelegates, finalizedHeight, missed, firstRound, oldestList = 1 }: ChainShape) {
  const params = { activeDelegates, delegateListRoundOffset: OFFSET, blockTimeS: BLOCK_TIME_S };
  const keys = Array.from({ length: activeDelegates }, (_, index) => `k${index}`);
  const slots = [0, 0];
  while (slots.length <= finalizedHeight) slots.push(slots.length - 1);
  for (const count of missed) slots.push((slots.at(-1) ?? 0) + count + 1);
  const tipHeight = slots.length - 1;
  const missedBlocks = Math.max(0, roundOf(tipHeight + 1, params) - firstRound);
  const account = { producedBlocks: 0, missedBlocks };
  const lists = new Map<number, readonly string[]>();
  for (let index = oldestList; index <= roundOf(tipHeight, params) + 1; index += 1)
    lists.set(index, index + OFFSET >= firstRound ? [NEW, ...keys.slice(1)] : keys);
  const state: ChainOfSlots = {
    account: () => account,
    header: (height) => {
      const slot = slots[height];
      return slot === undefined ? undefined : { timestamp: slot * BLOCK_TIME_S };
    },
    roundList: (index) => lists.get(index),
  };
  const finalSlot = slots[finalizedHeight] ?? 0;
  const earliest = (): number | undefined => earliestSlotOf(state, { finalizedHeight, tipHeight }, params, NEW);
  /** Whether a branch above the final block can give the delegate the slot. */
  const canHave = (slot: number): boolean => {
    for (let height = finalizedHeight; height < finalizedHeight + slot - finalSlot; height += 1) {
      const round = roundOf(height + 1, params);
      const isFinal = lastHeightOf(listIndexOf(round, OFFSET) - 1, params) <= finalizedHeight;
      if (!isFinal) return true;
      if (forgingOrder(state, height + 1, OFFSET, params)?.[slot % activeDelegates] === NEW) return true;
    }
    return false;
  };
  return { params, account, finalSlot, earliest, canHave };
}

test('the earliest slot is the first one that any branch can give the delegate', (t) => {
  const shapes = fc.record({
    activeDelegates: fc.integer({ min: 3, max: 7 }),
    finalizedHeight: fc.integer({ min: 2, max: 60 }),
    missed: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 }),
    firstRound: fc.integer({ min: OFFSET + 2, max: OFFSET + 14 }),
  });
  let known = 0;
  fc.assert(
    fc.property(shapes, (shape) => {
      const { finalSlot, earliest, canHave, params } = chainOf(shape);
      const slot = earliest();
      const { finalizedHeight, firstRound } = shape;
      const mayHaveHad = firstHeightOf(firstRound, params) <= finalizedHeight;
      t.is(slot === undefined, mayHaveHad);
      if (slot === undefined) return;
      known += 1;
      let first = finalSlot + 1;
      while (!canHave(first)) first += 1;
      t.is(slot, first);
    }),
  );
  t.true(known > 0);
});

test('without a final block, and for an account with earlier slots or with unknown ones, there is no earliest slot', (t) => {
  const shape: ChainShape = { activeDelegates: 5, finalizedHeight: 12, missed: [0, 4, 0, 1], firstRound: 5 };
  t.is(chainOf(shape).earliest(), 24, 'round 5 begins in slot 20 at the earliest, and the delegate has its fifth slot');
  t.is(chainOf({ ...shape, finalizedHeight: 1 }).earliest(), undefined);
  for (const earlier of [{ producedBlocks: 1 }, { missedBlocks: 1 }]) {
    const { account, earliest } = chainOf(shape);
    Object.assign(account, earlier);
    t.is(earliest(), undefined);
  }
  // The state keeps only the newest lists, so the node cannot tell which of the completed rounds had the delegate.
  const long = { ...shape, missed: Array.from({ length: 40 }, () => 0) };
  t.not(chainOf(long).earliest(), undefined);
  t.is(chainOf({ ...long, oldestList: 6 }).earliest(), undefined);
  const unknown: ChainOfSlots = { account: () => undefined, header: () => undefined, roundList: () => undefined };
  t.is(earliestSlotOf(unknown, { finalizedHeight: 12, tipHeight: 16 }, chainOf(shape).params, NEW), undefined);
});
