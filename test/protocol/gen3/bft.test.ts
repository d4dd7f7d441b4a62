import test from 'ava';
import {
  addHeader,
  bftLimits,
  contradictionOf,
  emptyBftState,
  headerFault,
  isCompliant,
  lastHeightIn,
  type BftHeader,
  type BftState,
} from '../../../src/protocol/gen3/bft.ts';
import { keyNumber } from '../../support/fixtures.ts';

const header = (height: number, forger: number, previous: number, prevoted: number): BftHeader => ({
  height,
  generatorPublicKey: keyNumber(forger),
  maxHeightPreviouslyForged: previous,
  maxHeightPrevoted: prevoted,
});

const votesOf = (votes: Uint8Array, bftState: BftState): Record<number, number> =>
  Object.fromEntries(
    [...votes].map((count, index) => [bftState.firstHeight + index, count] as const).filter(([, count]) => count > 0),
  );

test('limits follow the number of delegates', (t) => {
  t.deepEqual(bftLimits(101), { threshold: 68, range: 302, headersMax: 505 });
  t.deepEqual(bftLimits(4), { threshold: 3, range: 11, headersMax: 20 });
  t.is(bftLimits(3).threshold, 2);
  t.throws(() => bftLimits(256));
});

test('four delegates in turn finalize the block six below the tip', (t) => {
  const limits = bftLimits(4);
  const expected = [
    [0, 0],
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 1],
    [5, 2],
    [6, 3],
    [7, 4],
    [8, 5],
    [9, 6],
    [10, 7],
  ];
  let bftState = emptyBftState(0);
  expected.forEach(([maxPrevoted, finalized], index) => {
    const height = index + 1;
    const next = header(height, index % 4, Math.max(0, height - 4), bftState.maxPrevoted);
    t.is(headerFault(bftState, next, limits), undefined);
    bftState = addHeader(bftState, next, 1, limits);
    t.deepEqual([bftState.maxPrevoted, bftState.finalized], [maxPrevoted, finalized], `height ${height}`);
    if (height !== 6) return;
    t.deepEqual(votesOf(bftState.prevotes, bftState), { 1: 4, 2: 4, 3: 4, 4: 3, 5: 2, 6: 1 });
    t.deepEqual(votesOf(bftState.precommits, bftState), { 1: 3, 2: 2, 3: 1 });
  });
});

/** Returns the BFT state after 15 valid headers, which five delegates have signed in turn. */
function regularBftState(): BftState {
  let bftState = emptyBftState(0);
  for (let height = 1; height <= 15; height += 1) {
    const next = header(height, height % 5, Math.max(0, height - 5), height < 6 ? 0 : height - 4);
    bftState = addHeader(bftState, next, 1, bftLimits(5));
  }
  return bftState;
}

test('a header must contain the prevoted height once enough headers are known', (t) => {
  const bftState = regularBftState();
  t.is(bftState.maxPrevoted, 12);
  t.is(
    headerFault(bftState, header(16, 1, 11, 22), bftLimits(5)),
    'Wrong maxHeightPrevoted in blockHeader. maxHeightPrevoted: 22, : 12',
  );
  t.is(headerFault(bftState, header(16, 1, 11, 12), bftLimits(5)), undefined);
});

test('with few headers any prevoted height is accepted', (t) => {
  const bftState = addHeader(emptyBftState(0), header(1, 1, 0, 0), 1, bftLimits(5));
  t.is(headerFault(bftState, header(2, 2, 0, 77), bftLimits(5)), undefined);
});

const DISJOINT = /^Violation of disjointness condition/;

test('a header that omits an own block at the same or a greater height is refused', (t) => {
  const bftState = regularBftState();
  t.regex(String(headerFault(bftState, header(11, 1, 6, 12), bftLimits(5))), DISJOINT);
  t.regex(String(headerFault(bftState, header(10, 1, 6, 12), bftLimits(5))), DISJOINT);
});

test('a header on a branch with a lower prevoted height is refused', (t) => {
  let bftState = emptyBftState(0);
  for (let height = 1; height <= 15; height += 1) {
    const prevoted = height === 11 ? 13 : height < 6 ? 0 : height - 4;
    bftState = addHeader(bftState, header(height, height % 5, Math.max(0, height - 5), prevoted), 1, bftLimits(5));
  }
  t.regex(String(headerFault(bftState, header(16, 1, 11, 12), bftLimits(5))), /branch with largest maxHeightPrevoted$/);
});

test('two headers without progress contradict each other in either order', (t) => {
  const one = { height: 10, maxHeightPreviouslyForged: 5, maxHeightPrevoted: 3 };
  const rival = { height: 10, maxHeightPreviouslyForged: 5, maxHeightPrevoted: 3 };
  t.regex(String(contradictionOf(one, rival)), /^Violation of fork choice rule/);
  const moved = { height: 9, maxHeightPreviouslyForged: 10, maxHeightPrevoted: 3 };
  t.regex(String(contradictionOf(one, moved)), /^Violation of fork choice rule/);
  t.is(contradictionOf(moved, one), contradictionOf(one, moved));
  const allowed = { height: 9, maxHeightPreviouslyForged: 10, maxHeightPrevoted: 4 };
  t.is(contradictionOf(one, allowed), undefined);
  t.is(contradictionOf(allowed, one), undefined);
});

test('a header that names its own height or a greater one does not vote', (t) => {
  const limits = bftLimits(4);
  let bftState = addHeader(emptyBftState(0), header(1, 1, 0, 0), 1, limits);
  bftState = addHeader(bftState, header(2, 2, 2, 0), 1, limits);
  t.deepEqual(votesOf(bftState.prevotes, bftState), { 1: 1 });
});

test('votes start at the height where the delegate became active', (t) => {
  const limits = bftLimits(4);
  let bftState = emptyBftState(0);
  for (let height = 1; height <= 4; height += 1)
    bftState = addHeader(bftState, header(height, height, 0, 0), 1, limits);
  const before = votesOf(bftState.prevotes, bftState);
  bftState = addHeader(bftState, header(5, 5, 0, 0), 4, limits);
  t.deepEqual(votesOf(bftState.prevotes, bftState), { ...before, 4: 2, 5: 1 });
});

test("the full reward goes to headers that name their delegate's previous block", (t) => {
  const limits = bftLimits(5);
  const bftState = regularBftState();
  t.true(isCompliant(bftState, header(16, 1, 0, 12), limits), 'never forged');
  t.true(isCompliant(bftState, header(16, 1, 11, 12), limits), 'its own block');
  t.false(isCompliant(bftState, header(16, 1, 12, 12), limits), "another delegate's block");
  t.false(isCompliant(bftState, header(16, 1, 16, 12), limits), 'its own height');
  t.false(isCompliant(bftState, header(16, 1, 40, 12), limits), 'a height that does not exist');
});

test("naming a block beyond the votes' reach keeps the full reward, naming one older than the BFT state does not", (t) => {
  const limits = bftLimits(5);
  let bftState = emptyBftState(0);
  for (let height = 1; height <= 40; height += 1)
    bftState = addHeader(bftState, header(height, height % 5, 0, 0), 1, limits);
  t.is(bftState.firstHeight, 16);
  t.true(isCompliant(bftState, header(41, 1, 25, 0), limits), 'sixteen blocks ago');
  t.false(isCompliant(bftState, header(41, 1, 27, 0), limits), 'fourteen blocks ago');
  t.false(isCompliant(bftState, header(41, 1, 15, 0), limits), 'fell out of the BFT state');
});

test('a BFT state keeps five rounds of headers, and a successor does not change it', (t) => {
  const limits = bftLimits(4);
  let bftState = emptyBftState(0);
  for (let height = 1; height <= 20; height += 1)
    bftState = addHeader(bftState, header(height, height % 4, 0, 0), 1, limits);
  const copy = structuredClone(bftState);
  const next = addHeader(bftState, header(21, 1, 17, 0), 1, limits);
  t.deepEqual(bftState, copy);
  t.is(next.firstHeight, 2);
  t.is(lastHeightIn(next), 21);
  t.is(next.generators.length, 20);
});
