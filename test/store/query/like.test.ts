import test from 'ava';
import { fc } from '../../support/fast-check.ts';

import { codePoints, LikePattern } from '../../../src/store/query/like.ts';

function like(pattern: string, subject: string): boolean {
  return new LikePattern(codePoints(pattern)).matches(codePoints(subject));
}

for (const [pattern, subject, expected] of [
  ['abc', 'abc', true],
  ['abc', 'abcd', false],
  ['abc', 'ABC', false],
  ['', '', true],
  ['', 'a', false],
  ['%', '', true],
  ['%', 'anything', true],
  ['_', 'ß', true],
  ['_', '', false],
  ['a%c', 'ac', true],
  ['a%c', 'abcbc', true],
  ['a%c', 'abcb', false],
  ['%b%b%', 'ab', false],
  ['%genesis_1%', 'genesis_10', true],
  ['a\\%', 'a%', true],
  ['a\\%', 'ab', false],
  ['a\\_c', 'abc', false],
  ['a\\\\', 'a\\', true],
  ['a\\b', 'ab', true],
  ['a\\', 'a\\', true],
  ['.*', 'ab', false],
] as const) {
  test(`the pattern "${pattern}" ${expected ? 'covers' : 'does not cover'} "${subject}"`, (t) => {
    t.is(like(pattern, subject), expected);
  });
}

test('in patterns over bytes an underscore matches one byte', (t) => {
  const pattern = new LikePattern(Buffer.from('gr__e'));
  t.true(pattern.matches(Buffer.from('grüe')));
  t.false(pattern.matches(Buffer.from('grue')));
});

test('the literal prefix ends at the first wildcard', (t) => {
  const prefix = (pattern: string): string =>
    Buffer.from(new LikePattern(Buffer.from(pattern)).literalPrefix()).toString();
  t.is(prefix('rent%'), 'rent');
  t.is(prefix('50\\%_'), '50%');
  t.is(prefix('%x'), '');
  t.is(prefix('whole'), 'whole');
});

test('each pattern matches like the equivalent regular expression', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_'), maxLength: 8 });
  fc.assert(
    fc.property(text, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }), (pattern, subject) => {
      const source = pattern.replaceAll('%', '.*').replaceAll('_', '.');
      t.is(like(pattern, subject), new RegExp(`^${source}$`).test(subject));
    }),
    { numRuns: 1000 },
  );
});

test('a pattern made for a slow search is answered at once', (t) => {
  t.timeout(60_000);
  t.false(like('%a'.repeat(500), 'b'.repeat(5000)));
  t.false(like(`${'%a'.repeat(200)}b`, 'a'.repeat(2000)));
});
