/**
 * `npm run golden -- --dir DIR [--all] [--processes N] [--write-members FILE] [--write-parameters FILE]`: compares our
 * accounts and answers with those that were recorded from a lisk-sdk node. The command also compares the strict dialect
 * with the API description in the package of lisk-sdk.
 *
 * DIR contains the folders `gen2` and `gen3`, or is one of these folders. Each of the two folders has
 * `chain.ndjson.gz`, `accounts.ndjson.gz`, `answers.ndjson.gz` and `devnet-cases.ndjson`.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Generation } from '../../src/protocol/params.ts';
import { compareAccounts } from './compare-accounts.ts';
import { compareAnswers } from './compare-answers.ts';
import { compareCases } from './compare-cases.ts';
import { compareStrict } from './compare-strict.ts';
import { loadDescription } from './description.ts';
import { answerFromProcesses } from './recorded-node.ts';
import { defaultCacheFolder, installRelease } from '../interop/install.ts';

const { values } = parseArgs({
  options: {
    dir: { type: 'string' },
    all: { type: 'boolean' },
    processes: { type: 'string' },
    'write-members': { type: 'string' },
    'write-parameters': { type: 'string' },
  },
});
if (values.dir === undefined) {
  console.error('usage: npm run golden -- --dir DIR [--all] [--processes N]');
  process.exit(2);
}
answerFromProcesses(Number(values.processes ?? 0));
const root = values.dir;
const folders = existsSync(join(root, 'chain.ndjson.gz')) ? [root] : [join(root, 'gen2'), join(root, 'gen3')];
let failures = 0;
const members: Record<string, unknown> = {};
const parameters: Record<string, unknown> = {};
for (const folder of folders) {
  const generation = basename(folder) === 'gen2' ? 2 : 3;
  const { sdk } = await installRelease(generation, defaultCacheFolder(), console.log);
  const description = loadDescription(sdk);
  members[generation] = description.members();
  parameters[generation] = description.parameters();
  for (const [what, compare] of [
    ['accounts', compareAccounts],
    ['answers', compareAnswers],
    ['cases', compareCases],
    ['cases in the strict dialect', (from: string, of: Generation) => compareCases(from, of, true)],
    ['answers in the strict dialect', (from: string, of: Generation) => compareStrict(from, of, description)],
  ] as const) {
    const { compared, complaints } = await compare(folder, generation);
    failures += complaints.length;
    console.log(`generation ${generation}: ${compared - complaints.length} of ${compared} ${what} equal`);
    for (const complaint of values.all ? complaints : complaints.slice(0, 40)) console.log(`  ${complaint}`);
  }
}
if (values['write-members'] !== undefined)
  writeFileSync(values['write-members'], `${JSON.stringify(members, null, 1)}\n`);
if (values['write-parameters'] !== undefined)
  writeFileSync(values['write-parameters'], `${JSON.stringify(parameters, null, 1)}\n`);
process.exitCode = failures === 0 ? 0 : 1;
