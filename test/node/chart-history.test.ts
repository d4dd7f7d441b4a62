import test from 'ava';
import { ChartHistory } from '../../src/node/chart-history.ts';

const HOUR_MS = 3_600_000;

/**
 * Returns the chart history of a node, in a network in which each slot (the time for one block) lasts two seconds. The
 * test sets the clock of the history with `at`.
 */
function setUpHistory() {
  let nowMs = 0;
  const history = new ChartHistory({
    clock: { nowMs: () => nowMs },
    params: { epochMs: 0, blockTimeS: 2 },
    now: () => ({ pool: 3, peers: 4 }),
  });
  const block = (timestamp: number, transactions = 0) => ({ timestamp, transactions: { length: transactions } });
  return { history, block, at: (ms: number) => (nowMs = ms) };
}

test('blocks, transactions, delays and missed slots are counted per half minute', (t) => {
  const { history, block, at } = setUpHistory();
  at(60_500);
  history.applied([block(60, 2)], 'received');
  at(66_300);
  history.applied([block(66, 1)], 'forged');
  at(95_000);
  history.applied([block(94)], 'received');
  t.deepEqual(history.of('hour'), {
    intervalMs: 30_000,
    points: [
      { timeMs: 60_000, blocks: 2, transactions: 3, missedSlots: 2, reorgs: 0, delayMs: 400, pool: 3, peers: 4 },
      { timeMs: 90_000, blocks: 1, transactions: 0, missedSlots: 13, reorgs: 0, delayMs: 1000, pool: 3, peers: 4 },
    ],
  });
  t.is(history.of('day').points.length, 1);
  t.is(history.of('day').points[0]?.blocks, 3);
});

test('a download has no delays and no missed slots; after a reorg slots count from the new branch', (t) => {
  const { history, block, at } = setUpHistory();
  at(HOUR_MS);
  history.applied([block(2), block(40)], 'synced');
  history.reverted();
  history.applied([block(3000)], 'received');
  const [point] = history.of('hour').points;
  t.is(point?.missedSlots, 0);
  t.is(point?.reorgs, 1);
  t.is(point?.blocks, 3);
  t.is(point?.delayMs, 600_000);
});

test('the history is bounded, and entries older than its span are left out', (t) => {
  const { history, block, at } = setUpHistory();
  for (let minute = 0; minute < 3000; minute += 1) {
    at(minute * 60_000);
    history.applied([block(minute * 60)], 'received');
  }
  const points = history.of('hour').points;
  t.is(points.length, 60);
  t.true((points[0]?.timeMs ?? 0) > 2999 * 60_000 - HOUR_MS);
  t.is(history.of('day').points.length, 144);
  at(2999 * 60_000 + 2 * HOUR_MS);
  t.is(history.of('hour').points.length, 1);
});

test('a clock that is set back loses no entries', (t) => {
  const { history, block, at } = setUpHistory();
  at(HOUR_MS);
  history.applied([block(3600)], 'received');
  at(HOUR_MS - 300_000);
  history.applied([block(3602)], 'received');
  t.is(history.of('hour').points.length, 1);
  t.is(history.of('hour').points[0]?.blocks, 2);
});
