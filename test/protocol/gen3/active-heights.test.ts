import test from 'ava';
import { minHeightActive } from '../../../src/protocol/gen3/active-heights.ts';
import { MemoryState } from '../../support/memory-state.ts';

const LENGTH = { activeDelegates: 101 };

/**
 * Returns a state with the delegate lists of the rounds 1 to `newest`. The lists of the rounds in `active` contain the
 * delegate `d`.
 */
function stateWith(newest: number, active: readonly number[]): MemoryState {
  const state = new MemoryState();
  for (let index = 1; index <= newest; index += 1) {
    state.setRoundList(index, active.includes(index) ? ['other', 'd'] : ['other']);
  }
  return state;
}

const always = Array.from({ length: 12 }, (_, index) => index + 1);

test('an always active delegate counts from three rounds before the newest list', (t) => {
  const expected = [1, 1, 1, 1, 102, 203, 304, 405];
  expected.forEach((height, index) => {
    t.is(minHeightActive(stateWith(index + 1, always), 'd', index + 1, 2, LENGTH), height, `newest list ${index + 1}`);
  });
});

test('a new delegate counts from the round that forges with its first list', (t) => {
  t.is(minHeightActive(stateWith(8, [6]), 'd', 8, 2, LENGTH), 7 * 101 + 1);
  t.is(minHeightActive(stateWith(8, [5, 6]), 'd', 8, 2, LENGTH), 6 * 101 + 1);
  t.is(minHeightActive(stateWith(8, [4, 5, 6]), 'd', 8, 2, LENGTH), 5 * 101 + 1);
});

test('a returning delegate counts from its return', (t) => {
  t.is(minHeightActive(stateWith(8, [1, 2, 3, 4, 6]), 'd', 8, 2, LENGTH), 7 * 101 + 1);
});

test('gaps more than three lists back do not count', (t) => {
  t.is(minHeightActive(stateWith(9, [4, 5, 6, 7]), 'd', 9, 2, LENGTH), 5 * 101 + 1);
  t.is(minHeightActive(stateWith(9, always), 'd', 9, 2, LENGTH), 5 * 101 + 1);
});

test('a delegate outside the list in force is not active', (t) => {
  t.is(minHeightActive(stateWith(8, [5, 7, 8]), 'd', 8, 2, LENGTH), undefined);
  t.is(minHeightActive(new MemoryState(), 'd', 1, 2, LENGTH), undefined);
});

test('the search ends at lists that are no longer kept', (t) => {
  const state = stateWith(8, always);
  for (let index = 1; index <= 3; index += 1) state.setRoundList(index, undefined);
  t.is(minHeightActive(state, 'd', 8, 2, LENGTH), 5 * 101 + 1);
});
