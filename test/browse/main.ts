/**
 * `npm run browse`: opens the dashboard of a devnet of four nodes in Chromium. The command visits all pages with
 * several screen sizes and colour schemes, and takes screenshots. The command fails if a page lacks an expected text,
 * if the browser reports an unexpected error or warning, or if the accessibility checker axe finds a violation on a
 * page before a screenshot. First, the command tests `bloomery/client` on a separate page.
 */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';
import type { Generation } from '../../src/protocol/params.ts';
import { generationIn, testProgram } from '../support/program.ts';
import { browseClient } from './client-page.ts';
import { LOOKS } from './looks.ts';
import { browse } from './visitor.ts';

interface Flags {
  readonly out?: string;
  readonly generation: Generation;
  readonly client?: true;
  readonly look?: readonly string[];
  readonly chromium: string;
}

const { out, generation, client, look, chromium } = testProgram(
  'browse',
  'Opens the dashboard of a devnet in Chromium, checks each page, and takes screenshots',
)
  .option('--out <directory>', 'folder for the screenshots (default: a new temporary folder)')
  .option('--generation <number>', 'protocol generation, 2 or 3', generationIn, 3 as Generation)
  .option('--client', 'only test `bloomery/client` on a page of its own')
  .addOption(
    new Option('--look <names...>', 'screen size and colour scheme (default: all of them)').choices(Object.keys(LOOKS)),
  )
  .option('--chromium <file>', 'executable of the browser', '/usr/bin/chromium')
  .parse()
  .opts<Flags>();

const directory = out ?? mkdtempSync(join(tmpdir(), 'bloomery-browse-'));
try {
  await browseClient({ generation, chromium });
  console.log('a page that uses the client has what it asks for');
  if (client === true) process.exit();
  const screenshots = await browse({
    directory,
    generation,
    ...(look === undefined ? {} : { looks: look }),
    chromium,
    log: (line) => console.log(line),
  });
  console.log(`browse passed: ${screenshots} screenshots in ${directory}`);
} catch (error) {
  console.error(`browse failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
