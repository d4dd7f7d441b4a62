import test from 'ava';
import { MUTANTS } from './mutants.ts';
import { misfitsAmong, stageMsMaxOf } from './run-mutants.ts';

test('each planted fault replaces one place in the code, once', (t) => {
  t.deepEqual(misfitsAmong(MUTANTS), []);
  const [some] = MUTANTS;
  if (some === undefined) throw new Error('there are planted faults');
  t.is(misfitsAmong([{ ...some, from: 'a line that nobody wrote' }, some]).length, 1);
});

test('a stage with a fault may take three times its usual time, and at least a quarter of an hour', (t) => {
  t.is(stageMsMaxOf(20_000), 900_000);
  t.is(stageMsMaxOf(1_000_000), 3_000_000);
});
