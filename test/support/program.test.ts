import test from 'ava';
import { InvalidArgumentError } from 'commander';
import { generationIn, generationsIn, positiveNumber, wholeNumber } from './program.ts';

test('the values of options are refused outside of their range', (t) => {
  const small = wholeNumber(1, 20);
  t.deepEqual(['1', '20', '07'].map(small), [1, 20, 7]);
  for (const text of ['0', '21', '-1', '1.5', '1e1', '', ' 1', 'x'])
    t.throws(() => small(text), { instanceOf: InvalidArgumentError }, text);
  t.deepEqual(['0.5', '2'].map(positiveNumber), [0.5, 2]);
  for (const text of ['0', '-1', 'x', '', 'Infinity', 'NaN'])
    t.throws(() => positiveNumber(text), { instanceOf: InvalidArgumentError }, text);
});

test('an option for generations may be repeated', (t) => {
  t.is(generationIn('2'), 2);
  t.deepEqual(generationsIn('2', generationsIn('3', undefined)), [3, 2]);
  t.deepEqual(generationsIn('3', [3]), [3]);
  for (const text of ['1', '4', 'three', ''])
    t.throws(() => generationIn(text), { instanceOf: InvalidArgumentError }, text);
});
