import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { API_ENTRIES, apiPage } from './api-page.ts';

const FOLDER = join(packageDirectory(), 'docs/api');

for (const [name, entry] of Object.entries(API_ENTRIES)) {
  test(`the page of ${entry.module} describes each export of the package`, (t) => {
    const page = apiPage(entry);
    const file = join(FOLDER, name);
    if (process.env['UPDATE_DOCS'] === '1') {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(file, page);
    }
    t.is(readFileSync(file, 'utf8'), page, 'run the test with UPDATE_DOCS=1');
  });
}

test('the page of the test kit has a row with the type of each member', (t) => {
  const page = readFileSync(join(FOLDER, 'testing.md'), 'utf8');
  t.regex(page, /^\| `warp\(\)` \| `\(to: string \\\| Date\): Promise<Date>` \| Sets the chain clock ahead.* \|$/m);
  t.regex(page, /^\| `nodes\?` \| `number` \| Number of nodes, from 1 to 16; default 1\. \|$/m);
  t.regex(page, /^function startDevnet\(options: DevnetOptions = \{\}\): Promise<TestDevnet>;$/m);
});
