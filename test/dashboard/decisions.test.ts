import test from 'ava';
import type { Decision } from '../../src/dashboard/answers.ts';
import { runsOf } from '../../src/dashboard/decisions.ts';

const decision = (number: number, code: string, module = 'peers'): Decision => {
  const time = new Date(1_700_000_000_000 + number).toISOString();
  return { number, time, module, code, message: 'said', fields: { number } };
};

test('decisions of one kind in a row are one run, the latest first', (t) => {
  const list = [decision(5, 'A'), decision(4, 'A'), decision(3, 'B'), decision(2, 'A'), decision(1, 'A', 'chain')];
  const numbers = runsOf(list).map(({ latest, earlier }) => [latest.number, ...earlier.map(({ number }) => number)]);
  t.deepEqual(numbers, [[5, 4], [3], [2], [1]]);
});

test('no decisions are no runs', (t) => {
  t.deepEqual(runsOf([]), []);
});
