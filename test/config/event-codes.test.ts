/** Checks that `notify.events` accepts exactly the codes that occur in the sources. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { EVENT_CODES } from '../../src/config/event-codes.ts';
import { loadConfig } from '../../src/config/load.ts';
import { loadNetwork, packagedNetworkDirectory } from '../../src/config/network.ts';
import { packageDirectory } from '../../src/config/package.ts';
import { OPTIONS } from '../../src/config/schema.ts';

const FILE = join(packageDirectory(), 'src', 'config', 'event-codes.ts');
/** Folders below `src` whose sources contain codes. */
const MODULES = ['engine', 'protocol', 'store', 'node'];
const CODE = /'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g;

function codesInSources(): readonly string[] {
  const codes = new Set<string>();
  for (const module of MODULES) {
    const folder = join(packageDirectory(), 'src', module);
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      for (const [, code = ''] of readFileSync(join(folder, file), 'utf8').matchAll(CODE)) codes.add(code);
    }
  }
  return [...codes].sort();
}

test('the list of codes has each code in the sources, and no other', (t) => {
  const codes = codesInSources();
  t.true(codes.length > 100);
  const lines = codes.map((code) => `  ${code}`).join('\n');
  const text =
    '/**\n * Lists the codes of all events that a node can report. `test/config/event-codes.test.ts` with `UPDATE_DOCS=1`\n' +
    ' * generates the list.\n */\n' +
    `\nexport const EVENT_CODES: ReadonlySet<string> = new Set(\n  \`\n${lines}\n\`\n    .trim()\n    .split(/\\s+/),\n);\n`;
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(FILE, text);
  t.is(readFileSync(FILE, 'utf8'), text, 'run the test with UPDATE_DOCS=1, then build');
});

test('an unknown code is refused, and the defaults are all known', (t) => {
  const network = loadNetwork(packagedNetworkDirectory('devnet'));
  const load = (events: string) =>
    loadConfig({ network, environment: { BLOOMERY_NOTIFY_EVENTS: events }, flags: new Map() }).notify.events;
  t.deepEqual(load('OWN_SLOTS_MISSED'), ['OWN_SLOTS_MISSED']);
  t.deepEqual(load('all'), ['all']);
  t.throws(() => load('OWN_SLOT_MISSED'), { message: /notify\.events|BLOOMERY_NOTIFY_EVENTS/ });
  for (const code of OPTIONS.notify.events.default) t.true(EVENT_CODES.has(String(code)), String(code));
});
