import test from 'ava';
import { editDistance, similarTo } from '../../src/cli/similar.ts';

for (const [a, b, edits] of [
  ['', '', 0],
  ['', 'abc', 3],
  ['status', 'status', 0],
  ['stauts', 'status', 1],
  ['mised', 'missed', 1],
  ['kitten', 'sitting', 3],
  ['ab', 'ba', 1],
] as const) {
  test(`\`${a}\` and \`${b}\` differ by ${edits}`, (t) => {
    t.is(editDistance(a, b), edits);
    t.is(editDistance(b, a), edits);
  });
}

test('the most similar word is found, the first of several, and no dissimilar word', (t) => {
  const known = ['start', 'status', 'peers', 'keys'];
  t.is(similarTo('strat', known), 'start');
  t.is(similarTo('stat', known), 'start');
  t.is(similarTo('key', known), 'keys');
  t.is(similarTo('frobnicate', known), undefined);
  t.is(similarTo('xy', known), undefined);
  t.is(similarTo('x', []), undefined);
});
