/**
 * `npm run browse -- [--out DIR] [--generation 2] [--look phone-dark]`: opens the dashboard of a devnet of four nodes
 * in Chromium. The command visits all pages with several screen sizes and colour schemes, and takes screenshots. The
 * command fails if a page lacks an expected text, if the browser reports an unexpected error or warning, or if the
 * accessibility checker axe finds a violation on a page before a screenshot.
 *
 * First, the command tests `bloomery/client` on a separate page. With `--client`, the command makes only this test.
 * `--look` selects a screen size with a colour scheme (see `LOOKS`), and may be repeated. Without `--look`, the command
 * uses all five looks.
 */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { browseClient } from './client-page.ts';
import { browse } from './visitor.ts';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    generation: { type: 'string', default: '3' },
    client: { type: 'boolean', default: false },
    look: { type: 'string', multiple: true },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
  },
});

const directory = values.out ?? mkdtempSync(join(tmpdir(), 'bloomery-browse-'));
try {
  const generation = values.generation === '2' ? 2 : 3;
  await browseClient({ generation, chromium: values.chromium });
  console.log('a page that uses the client has what it asks for');
  if (values.client) process.exit();
  const screenshots = await browse({
    directory,
    generation,
    ...(values.look === undefined ? {} : { looks: values.look }),
    chromium: values.chromium,
    log: (line) => console.log(line),
  });
  console.log(`browse passed: ${screenshots} screenshots in ${directory}`);
} catch (error) {
  console.error(`browse failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
