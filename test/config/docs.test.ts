import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { configurationMarkdown } from '../../src/config/docs.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { allOptions } from '../../src/config/schema.ts';

const file = join(packageDirectory(), 'docs', 'configuration.md');

test('docs/configuration.md matches the schema', (t) => {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, configurationMarkdown());
  t.is(readFileSync(file, 'utf8'), configurationMarkdown());
});

test('each option has a sentence, its own variable and a default that it accepts', (t) => {
  const options = allOptions();
  t.is(new Set(options.map(({ variable }) => variable)).size, options.length);
  for (const { path, option } of options) {
    t.regex(option.help, /^[A-Z].*\.$/, path);
    t.regex(path, /^[a-z0-9]+\.[a-zA-Z0-9]+$/);
  }
});
