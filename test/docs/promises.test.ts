/**
 * Tests the quotes in `test/sim/records/promises.ts`. The rules in `promises.ts` say what the simulations of signing
 * records expect of an operator. Each sentence that a rule quotes must be in the guide for delegates
 * (`docs/guides/forge.md`).
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';

const MIN_WORDS = 6;

const textOf = (path: string): string => readFileSync(join(packageDirectory(), path), 'utf8');

test('each sentence that the model quotes is in the guide', (t) => {
  const guide = textOf('docs/guides/forge.md').replace(/\s+/g, ' ').toLowerCase();
  const comments = textOf('test/sim/records/promises.ts').replace(/\s+\*\s/g, ' ');
  const quotes = [...comments.matchAll(/"([^"]+)"/g)].map(([, quote = '']) => quote.replace(/\s+/g, ' '));
  const sentences = quotes.filter((quote) => quote.split(' ').length >= MIN_WORDS);
  t.true(sentences.length >= 12, `${sentences.length}`);
  t.deepEqual(
    sentences.filter((sentence) => !guide.includes(sentence.toLowerCase())),
    [],
  );
});
