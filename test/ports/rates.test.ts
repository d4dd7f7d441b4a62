/**
 * Tests the table of rates (`RATES`), from which the node computes its receive limits. Honest nodes must stay within
 * these limits, even after their connection or process has stalled.
 */

import test from 'ava';

import { FRAMES_PER_SECOND_CUT, framesAtOnceMax } from '../../src/p2p/frame-filter.ts';
import { ReceiveLimits } from '../../src/p2p/receive-limits.ts';
import {
  CALLS_PER_SECOND_MAX,
  FRAMES_PER_SECOND,
  honestFramesMax,
  honestMax,
  limitsOf,
  RATES,
  RATE_WINDOW_MS,
  type RateRow,
  SAFETY,
  type Sending,
  STALL_MS,
} from '../../src/ports/rates.ts';

const HOUR_MS = 3_600_000;

for (const row of RATES) {
  const title = `generation ${row.generation}, ${row.name}`;

  test(`${title}: the rate of honest nodes, with a margin, is accepted, and penalties start above it`, (t) => {
    const { takenMax, penalisedAbove } = limitsOf(row);
    t.true(honestMax(row) * SAFETY <= takenMax);
    t.true(penalisedAbove >= 2 * takenMax);
  });

  for (const [whose, sending] of sendersOf(row)) {
    test(`${title}: nothing of ${whose} is dropped when its connection stalls and then delivers all at once`, (t) => {
      // Each list contains the start times of stalls. The first list has no stall. The second has one stall after a
      // minute. The third has one stall directly after the connection opens. The fourth has repeated stalls.
      for (const stallsMs of [[], [60_000], [0], Array.from({ length: 50 }, (_, index) => index * 61_000)]) {
        const limits = new ReceiveLimits(row.generation);
        const arrivals = arrivalsOf(sending, stallsMs);
        const dropped = arrivals.filter((atMs) => limits.use(row.name, atMs) !== 'taken');
        t.deepEqual(dropped, [], `stalls at ${stallsMs.slice(0, 3).join()}`);
      }
    });

    test(`${title}: nothing of ${whose} is dropped when its process stalls, whatever had queued up`, (t) => {
      const limits = new ReceiveLimits(row.generation);
      // Each step of this loop is the end of a stall of the sender's process. After a stall, each timer of the sender
      // fires only once, and the sender may also send a full burst.
      for (let atMs = 0; atMs < HOUR_MS; atMs += 7_777) {
        for (let sent = 0; sent < sending.burst + 1; sent += 1) t.is(limits.use(row.name, atMs), 'taken');
      }
    });
  }
}

for (const generation of [2, 3] as const) {
  test(`frames of generation ${generation}: all frames that an honest peer can deliver at once are read`, (t) => {
    t.true(honestFramesMax(generation) * SAFETY <= framesAtOnceMax(generation));
    t.true(framesAtOnceMax(generation) < FRAMES_PER_SECOND_CUT);
    t.true(2 * honestFramesMax(generation) <= FRAMES_PER_SECOND_CUT);
  });

  test(`frames of generation ${generation}: the long-term rate of our node is below the limit of each release`, (t) => {
    const rows = RATES.filter((row) => row.generation === generation);
    const requests = CALLS_PER_SECOND_MAX;
    const messages = rows
      .filter(({ own }) => own.everyMs > 1_000 / CALLS_PER_SECOND_MAX)
      .reduce((sum, { own }) => sum + 1_000 / own.everyMs, 0);
    // The test counts each request twice, because it assumes that the node sends as many answers as requests.
    // Heartbeats add at most one frame per second.
    t.true(2 * requests + messages + 1 <= FRAMES_PER_SECOND, `${2 * requests + messages}`);
  });
}

test('our node makes no fourth call in ten seconds, which release 3.0.2 penalises, even with a late call', (t) => {
  for (const name of ['getTransactions', 'postTransactionsAnnouncement', 'postSignatures']) {
    const row = RATES.find((each) => each.generation === 3 && each.name === name)!;
    const sent = sentBy(row.own);
    for (const [late] of sent.slice(0, 50).entries()) {
      const arrivals = sent.map((atMs, index) => (index === late ? atMs + 4_000 : atMs)).sort((a, b) => a - b);
      for (const fromMs of arrivals) {
        const inWindow = arrivals.filter((atMs) => atMs >= fromMs && atMs < fromMs + RATE_WINDOW_MS);
        t.true(inWindow.length <= 3, `${name}: ${inWindow.join()}`);
      }
    }
  }
});

function sendersOf({ own, reference }: RateRow): readonly (readonly [string, Sending])[] {
  return [['ours', own], ...(reference === undefined ? [] : ([['the reference', reference]] as const))];
}

/** Returns the times at which a sender that always uses its full rate sends its messages. */
function sentBy({ burst, everyMs }: Sending): number[] {
  const count = Math.ceil((10 * RATE_WINDOW_MS) / everyMs);
  const steady = Array.from({ length: count }, (_, index) => (index + 1) * everyMs);
  return [...Array.from({ length: burst }, () => 0), ...steady];
}

/**
 * Returns the times at which the frames of `sentBy` arrive. A frame that was sent during a stall arrives when the stall
 * ends. If the sender limits its unanswered calls (`outstandingMax`), at most `burst` plus `outstandingMax` of the
 * calls that fall into one stall arrive.
 */
function arrivalsOf(sending: Sending, stallsMs: readonly number[]): number[] {
  const arrivals: number[] = [];
  const piled = new Map<number, number>();
  for (const atMs of sentBy(sending)) {
    const stall = stallsMs.find((fromMs) => atMs >= fromMs && atMs < fromMs + STALL_MS);
    if (stall === undefined) {
      arrivals.push(atMs);
      continue;
    }
    const count = (piled.get(stall) ?? 0) + 1;
    piled.set(stall, count);
    if (count <= sending.burst + (sending.outstandingMax ?? Infinity)) arrivals.push(stall + STALL_MS);
  }
  return arrivals.sort((a, b) => a - b);
}
