import test from 'ava';
import type { Diagnostic } from '../../src/dashboard/answers.ts';
import { runsOf } from '../../src/dashboard/diagnostics.ts';

const diagnostic = (number: number, code: string, module = 'peers'): Diagnostic => {
  const time = new Date(1_700_000_000_000 + number).toISOString();
  return { number, time, module, code, message: 'said', fields: { number } };
};

test('consecutive diagnostics of one kind form one run, the latest first', (t) => {
  const list = [
    diagnostic(5, 'A'),
    diagnostic(4, 'A'),
    diagnostic(3, 'B'),
    diagnostic(2, 'A'),
    diagnostic(1, 'A', 'chain'),
  ];
  const numbers = runsOf(list).map(({ latest, earlier }) => [latest.number, ...earlier.map(({ number }) => number)]);
  t.deepEqual(numbers, [[5, 4], [3], [2], [1]]);
});

test('an empty list of diagnostics gives no runs', (t) => {
  t.deepEqual(runsOf([]), []);
});
