import test from 'ava';
import { MUTANTS } from './mutants.ts';
import { misfitsAmong } from './run-mutants.ts';

test('every planted fault has its place in the code, once', (t) => {
  t.deepEqual(misfitsAmong(MUTANTS), []);
  const [some] = MUTANTS;
  if (some === undefined) throw new Error('there are planted faults');
  t.is(misfitsAmong([{ ...some, from: 'a line that nobody wrote' }, some]).length, 1);
});
