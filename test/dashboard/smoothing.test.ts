import test from 'ava';
import {
  BEHIND_MS,
  nodeStateOf,
  SMOOTHING_MS,
  smoothedLag,
  smoothedPercent,
  withSample,
  type Sample,
} from '../../src/dashboard/smoothing.ts';

function after(...percents: readonly number[]): readonly Sample[] {
  return percents.reduce<readonly Sample[]>((samples, percent, index) => {
    return withSample(samples, { atMs: index * 3000, percent, lag: 0 });
  }, []);
}

test('a short drop during the propagation of a new block is not a loss of consensus', (t) => {
  t.is(smoothedPercent(after(100, 33, 100, 0)), 100);
  t.is(smoothedPercent([]), undefined);
});

test('low consensus is shown when it has lasted for the whole period', (t) => {
  const dips = Array.from({ length: SMOOTHING_MS / 3000 }, () => 33);
  t.is(smoothedPercent(after(100, ...dips.slice(1))), 100);
  t.is(smoothedPercent(after(100, ...dips)), 33);
});

function lagging(...lags: readonly number[]): readonly Sample[] {
  return lags.map((lag, index) => ({ atMs: index * 3000, percent: 100, lag }));
}

test('a node is behind only when each answer of some time says so', (t) => {
  t.is(smoothedLag([]), 0);
  t.is(smoothedLag(lagging(7)), 0, 'a single answer may have come while a block spread');
  t.is(smoothedLag(lagging(0, 2, 0, 5)), 0);
  const needed = Math.ceil(BEHIND_MS / 3000) + 1;
  t.is(smoothedLag(lagging(...Array.from({ length: needed }, () => 4))), 4);
  t.is(smoothedLag(lagging(0, ...Array.from({ length: needed - 1 }, () => 4))), 0);
  t.is(smoothedLag(lagging(0, ...Array.from({ length: needed }, (_, index) => 9 - index))), 9 - needed + 1);
});

test('a node at the height of the others is in step only if its peers have its tip', (t) => {
  const status = { height: 10, syncing: false };
  t.is(nodeStateOf(undefined, undefined, 10), 'no answer');
  t.is(nodeStateOf({ ...status, syncing: true }, 0, 10), 'catching up');
  t.is(nodeStateOf(status, 100, 12), 'in step');
  t.is(nodeStateOf(status, 100, 13), 'behind');
  t.is(nodeStateOf(status, 51, 10), 'in step');
  t.is(nodeStateOf(status, 50, 10), 'low consensus', 'the node can be on another chain of the same height');
  t.is(nodeStateOf(status, undefined, 10), 'in step', 'the percentage is unknown until the first answer');
  t.is(nodeStateOf({ ...status, isAlone: true }, 0, 10), 'in step', 'a node without peers has no consensus');
});
