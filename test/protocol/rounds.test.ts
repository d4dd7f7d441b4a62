import test from 'ava';
import * as rounds from '../../src/protocol/rounds.ts';
import type { Delegate } from '../../src/protocol/state.ts';
import { keyNumber } from '../support/fixtures.ts';
import { MemoryState } from '../support/memory-state.ts';

const delegate = (number: number, voteWeight: bigint): Delegate => ({
  publicKey: keyNumber(number),
  address: `${number}L`,
  username: `delegate_${number}`,
  voteWeight,
  pendingVoteWeight: 0n,
  rank: 0,
});

const LENGTH = { activeDelegates: 101 };

test('a round has 101 heights, and the genesis block is in the first', (t) => {
  t.deepEqual(
    [1, 101, 102, 202, 203].map((height) => rounds.roundOf(height, LENGTH)),
    [1, 1, 2, 2, 3],
  );
  t.is(rounds.firstHeightOf(2, LENGTH), 102);
  t.is(rounds.lastHeightOf(2, LENGTH), 202);
  t.deepEqual(
    [1, 100, 101, 102, 202].map((height) => rounds.isLastOfRound(height, LENGTH)),
    [false, false, true, false, true],
  );
});

test('the shuffle matches the published orders', (t) => {
  const list = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  t.deepEqual(rounds.shuffled(list, 1), [7, 4, 8, 2, 1, 6, 3, 0, 5, 9]);
  t.deepEqual(rounds.shuffled(list, 2), [2, 5, 1, 7, 0, 4, 6, 8, 3, 9]);
  t.deepEqual(list, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.deepEqual(rounds.shuffled([], 1), []);
});

test('delegates are listed by weight, then by key, and only up to a round', (t) => {
  const state = new MemoryState();
  for (let number = 1; number <= 103; number += 1) state.setDelegate(delegate(number, 5n));
  state.setDelegate(delegate(50, 9n));
  state.setDelegate(delegate(1, 4n));
  const list = rounds.delegatesByWeight(state, LENGTH);
  t.is(list.length, 101);
  t.is(list[0], keyNumber(50));
  t.is(list[1], keyNumber(2));
  t.is(list[100], keyNumber(102));
  t.false(list.includes(keyNumber(1)));
});

test('a round forges with the list frozen before it, the first rounds with the first list', (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5].map((round) => rounds.listIndexOf(round, 2)),
    [1, 1, 1, 2, 3],
  );
  t.deepEqual(
    [1, 2, 3].map((round) => rounds.listIndexOf(round, 0)),
    [1, 2, 3],
  );
});

test('the same list is shuffled with the number of the forging round', (t) => {
  const state = new MemoryState();
  const list = Array.from({ length: 101 }, (_, number) => keyNumber(number));
  state.setRoundList(1, list);
  const orders = [1, 102, 203].map((height) => rounds.forgingOrder(state, height, 2, LENGTH));
  t.deepEqual(orders[0], rounds.shuffled(list, 1));
  t.deepEqual(orders[1], rounds.shuffled(list, 2));
  t.deepEqual(orders[2], rounds.shuffled(list, 3));
  t.deepEqual(rounds.forgingOrder(state, 1, 2, LENGTH), orders[0]);
  t.is(rounds.forgingOrder(state, 304, 2, LENGTH), undefined);
});

test('slots are assigned modulo the length of a round even with fewer delegates', (t) => {
  t.is(rounds.ownerOfSlot(['a', 'b'], 0, LENGTH), 'a');
  t.is(rounds.ownerOfSlot(['a', 'b'], 102, LENGTH), 'b');
  t.is(rounds.ownerOfSlot(['a', 'b'], 2, LENGTH), undefined);
});
