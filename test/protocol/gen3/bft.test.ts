import test from 'ava';
import {
  addHeader,
  bftLimits,
  contradictionOf,
  emptyLedger,
  headerFault,
  isCompliant,
  lastHeightIn,
  type BftHeader,
  type BftLedger,
} from '../../../src/protocol/gen3/bft.ts';
import { keyNumber } from '../../support/fixtures.ts';

const header = (height: number, forger: number, previous: number, prevoted: number): BftHeader => ({
  height,
  generatorPublicKey: keyNumber(forger),
  maxHeightPreviouslyForged: previous,
  maxHeightPrevoted: prevoted,
});

const votesOf = (votes: Uint8Array, ledger: BftLedger): Record<number, number> =>
  Object.fromEntries(
    [...votes].map((count, index) => [ledger.firstHeight + index, count] as const).filter(([, count]) => count > 0),
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
  let ledger = emptyLedger(0);
  expected.forEach(([maxPrevoted, finalized], index) => {
    const height = index + 1;
    const next = header(height, index % 4, Math.max(0, height - 4), ledger.maxPrevoted);
    t.is(headerFault(ledger, next, limits), undefined);
    ledger = addHeader(ledger, next, 1, limits);
    t.deepEqual([ledger.maxPrevoted, ledger.finalized], [maxPrevoted, finalized], `height ${height}`);
    if (height !== 6) return;
    t.deepEqual(votesOf(ledger.prevotes, ledger), { 1: 4, 2: 4, 3: 4, 4: 3, 5: 2, 6: 1 });
    t.deepEqual(votesOf(ledger.precommits, ledger), { 1: 3, 2: 2, 3: 1 });
  });
});

/** A ledger of 15 regular headers of five delegates. */
function regularLedger(): BftLedger {
  let ledger = emptyLedger(0);
  for (let height = 1; height <= 15; height += 1) {
    const next = header(height, height % 5, Math.max(0, height - 5), height < 6 ? 0 : height - 4);
    ledger = addHeader(ledger, next, 1, bftLimits(5));
  }
  return ledger;
}

test('a header must contain the prevoted height once enough headers are known', (t) => {
  const ledger = regularLedger();
  t.is(ledger.maxPrevoted, 12);
  t.is(
    headerFault(ledger, header(16, 1, 11, 22), bftLimits(5)),
    'Wrong maxHeightPrevoted in blockHeader. maxHeightPrevoted: 22, : 12',
  );
  t.is(headerFault(ledger, header(16, 1, 11, 12), bftLimits(5)), undefined);
});

test('with few headers any prevoted height is accepted', (t) => {
  const ledger = addHeader(emptyLedger(0), header(1, 1, 0, 0), 1, bftLimits(5));
  t.is(headerFault(ledger, header(2, 2, 0, 77), bftLimits(5)), undefined);
});

const DISJOINT = /^Violation of disjointness condition/;

test('a header that omits an own block at the same or a greater height is refused', (t) => {
  const ledger = regularLedger();
  t.regex(String(headerFault(ledger, header(11, 1, 6, 12), bftLimits(5))), DISJOINT);
  t.regex(String(headerFault(ledger, header(10, 1, 6, 12), bftLimits(5))), DISJOINT);
});

test('a header on a branch with a lower prevoted height is refused', (t) => {
  let ledger = emptyLedger(0);
  for (let height = 1; height <= 15; height += 1) {
    const prevoted = height === 11 ? 13 : height < 6 ? 0 : height - 4;
    ledger = addHeader(ledger, header(height, height % 5, Math.max(0, height - 5), prevoted), 1, bftLimits(5));
  }
  t.regex(String(headerFault(ledger, header(16, 1, 11, 12), bftLimits(5))), /branch with largest maxHeightPrevoted$/);
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
  let ledger = addHeader(emptyLedger(0), header(1, 1, 0, 0), 1, limits);
  ledger = addHeader(ledger, header(2, 2, 2, 0), 1, limits);
  t.deepEqual(votesOf(ledger.prevotes, ledger), { 1: 1 });
});

test('votes start at the height where the delegate became active', (t) => {
  const limits = bftLimits(4);
  let ledger = emptyLedger(0);
  for (let height = 1; height <= 4; height += 1) ledger = addHeader(ledger, header(height, height, 0, 0), 1, limits);
  const before = votesOf(ledger.prevotes, ledger);
  ledger = addHeader(ledger, header(5, 5, 0, 0), 4, limits);
  t.deepEqual(votesOf(ledger.prevotes, ledger), { ...before, 4: 2, 5: 1 });
});

test("the full reward goes to headers that name their delegate's previous block", (t) => {
  const limits = bftLimits(5);
  const ledger = regularLedger();
  t.true(isCompliant(ledger, header(16, 1, 0, 12), limits), 'never forged');
  t.true(isCompliant(ledger, header(16, 1, 11, 12), limits), 'its own block');
  t.false(isCompliant(ledger, header(16, 1, 12, 12), limits), "another delegate's block");
  t.false(isCompliant(ledger, header(16, 1, 16, 12), limits), 'its own height');
  t.false(isCompliant(ledger, header(16, 1, 40, 12), limits), 'a height that does not exist');
});

test("naming a block beyond the votes' reach keeps the full reward, naming one older than the ledger does not", (t) => {
  const limits = bftLimits(5);
  let ledger = emptyLedger(0);
  for (let height = 1; height <= 40; height += 1)
    ledger = addHeader(ledger, header(height, height % 5, 0, 0), 1, limits);
  t.is(ledger.firstHeight, 16);
  t.true(isCompliant(ledger, header(41, 1, 25, 0), limits), 'sixteen blocks ago');
  t.false(isCompliant(ledger, header(41, 1, 27, 0), limits), 'fourteen blocks ago');
  t.false(isCompliant(ledger, header(41, 1, 15, 0), limits), 'fell out of the ledger');
});

test('a ledger keeps five rounds of headers, and a successor does not change it', (t) => {
  const limits = bftLimits(4);
  let ledger = emptyLedger(0);
  for (let height = 1; height <= 20; height += 1)
    ledger = addHeader(ledger, header(height, height % 4, 0, 0), 1, limits);
  const copy = structuredClone(ledger);
  const next = addHeader(ledger, header(21, 1, 17, 0), 1, limits);
  t.deepEqual(ledger, copy);
  t.is(next.firstHeight, 2);
  t.is(lastHeightIn(next), 21);
  t.is(next.generators.length, 20);
});
