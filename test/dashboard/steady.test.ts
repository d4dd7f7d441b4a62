import test from 'ava';
import { STEADY_MS, steadyPercent, withSample, type Sample } from '../../src/dashboard/steady.ts';

function after(...percents: readonly number[]): readonly Sample[] {
  return percents.reduce<readonly Sample[]>((samples, percent, index) => {
    return withSample(samples, { atMs: index * 3000, percent });
  }, []);
}

test('a dip during the propagation of a new block is no loss of consensus', (t) => {
  t.is(steadyPercent(after(100, 33, 100, 0)), 100);
  t.is(steadyPercent([]), undefined);
});

test('low consensus is shown when it has lasted for the whole period', (t) => {
  const dips = Array.from({ length: STEADY_MS / 3000 }, () => 33);
  t.is(steadyPercent(after(100, ...dips.slice(1))), 100);
  t.is(steadyPercent(after(100, ...dips)), 33);
});
