/**
 * `npm run golden`: compares our accounts and answers with those that were recorded from a lisk-sdk node. The command
 * also compares our answers in the strict dialect (`http.strictDialect`: only names that lisk-sdk has) with the API
 * description in the package of lisk-sdk.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Generation } from '../../src/protocol/params.ts';
import { compareAccounts } from './compare-accounts.ts';
import { compareAnswers } from './compare-answers.ts';
import { compareCases } from './compare-cases.ts';
import { compareStrict } from './compare-strict.ts';
import { loadDescription } from './description.ts';
import { answerFromProcesses } from './recorded-node.ts';
import { defaultCacheFolder, installRelease } from '../interop/install.ts';
import { testProgram, wholeNumber } from '../support/program.ts';

interface Flags {
  readonly dir: string;
  readonly all?: true;
  readonly processes: number;
  readonly writeMembers?: string;
  readonly writeParameters?: string;
}

const flags = testProgram('golden', 'Compares our accounts and answers with those recorded from a lisk-sdk node')
  .requiredOption(
    '--dir <directory>',
    'folder with the folders `gen2` and `gen3`, or one of these: each has `chain.ndjson.gz`, `accounts.ndjson.gz`, ' +
      '`answers.ndjson.gz` and `devnet-cases.ndjson`',
  )
  .option('--all', 'print all differences, not only the first 40 of each kind')
  .option('--processes <number>', 'answer from so many reading processes', wholeNumber(0, 64), 0)
  .option('--write-members <file>', "write the members of the release's answers to this file")
  .option('--write-parameters <file>', 'write the parameters that the release accepts to this file')
  .parse()
  .opts<Flags>();
answerFromProcesses(flags.processes);
const root = flags.dir;
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
    for (const complaint of flags.all === true ? complaints : complaints.slice(0, 40)) console.log(`  ${complaint}`);
  }
}
if (flags.writeMembers !== undefined) writeFileSync(flags.writeMembers, `${JSON.stringify(members, null, 1)}\n`);
if (flags.writeParameters !== undefined)
  writeFileSync(flags.writeParameters, `${JSON.stringify(parameters, null, 1)}\n`);
process.exitCode = failures === 0 ? 0 : 1;
