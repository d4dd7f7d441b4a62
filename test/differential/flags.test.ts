/**
 * Tests the command line of `npm run differential`. A mistyped flag must cause an error. Otherwise a user could believe
 * that a comparison with this flag ran and found no differences.
 */

import test from 'ava';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/network-folder.ts';
import { generationsOf, readFlags, type Terminal } from './flags.ts';
import { doubleOf } from './reference-node.ts';
import { referencePackage } from './reference.ts';
import { targetNames } from './target-names.ts';
import { targetsOf } from './targets.ts';

const SILENT: Terminal = {
  write: () => undefined,
  exit: (code) => {
    throw new Error(`ended with ${code}`);
  },
};
const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));

function run(...flags: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [MAIN, ...flags], { encoding: 'utf8' });
}

/** Returns the output and the exit code of a refused command line, or undefined if the flags are accepted. */
function refusalOf(flags: readonly string[]): { readonly text: string; readonly code: number } | undefined {
  class Ended extends Error {}
  let text = '';
  let code = -1;
  const exit = (given: number): never => {
    code = given;
    throw new Ended();
  };
  try {
    readFlags(flags, 1, { write: (more) => (text += more), exit });
    return undefined;
  } catch (error) {
    if (error instanceof Ended) return { text, code };
    throw error;
  }
}

const WRONG: readonly (readonly string[])[] = [
  ['--nosuch'],
  ['--generaton', '3'],
  ['extra'],
  ['--generation', '4'],
  ['--generation', 'three'],
  ['--only', 'nosuch'],
  ['--generation', '3', '--only', 'older'],
  ['--http', '--only', 'blocks'],
  ['--cases', '0'],
  ['--cases'],
  ['--cases', '1e3'],
  ['--seed', '-1'],
  ['--replay', '/nonexistent'],
  ['--record', 'folder'],
  ['--http', '--framework'],
];

for (const flags of WRONG) {
  test(`the differential harness refuses \`${flags.join(' ')}\` in one line and with code 2`, (t) => {
    const { code, text } = refusalOf(flags) ?? {};
    t.is(code, 2);
    t.regex(text ?? '', /^error: [^\n]+\n$/);
  });
}

test('a wrong flag ends the harness before it prints a result', (t) => {
  const { status, stdout, stderr } = run('--generation', '4');
  t.is(status, 2);
  t.is(stdout, '');
  t.is(stderr, "error: option '--generation <number>' argument '4' is invalid. It should be 2 or 3.\n");
});

test('valid flags are accepted, and the seed and the number of cases have defaults', (t) => {
  t.deepEqual(readFlags([], 7, SILENT), { cases: 30_000, seed: 7 });
  t.deepEqual(readFlags(['--generation', '2', '--only', 'older', '--cases', '9', '--seed', '0'], 7, SILENT), {
    cases: 9,
    seed: 0,
    generation: 2,
    only: 'older',
  });
  t.deepEqual(generationsOf({ cases: 1, seed: 1, only: 'older' }), [2]);
  t.deepEqual(generationsOf({ cases: 1, seed: 1, http: true, only: 'submissions' }), [2, 3]);
});

test('a file without an example, or one that is not JSON, is refused before the comparison starts', (t) => {
  const file = join(temporaryFolder(t), 'examples');
  for (const text of ['\n \n', '{"type":8}\n{"type":']) {
    writeFileSync(file, text);
    const { code, text: message } = refusalOf(['--replay', file]) ?? {};
    t.is(code, 2);
    t.regex(message ?? '', /^error: [^\n]+\n$/);
  }
});

test('the help lists each option and each target', (t) => {
  const { code, text: stdout = '' } = refusalOf(['--help']) ?? {};
  t.is(code, 0);
  for (const name of [
    'cases',
    'seed',
    'generation',
    'only',
    'framework',
    'examples',
    'reasons',
    'replay',
    'http',
    'record',
  ])
    t.regex(stdout, new RegExp(`^ {2}--${name} `, 'm'));
  for (const generation of [2, 3] as const) {
    for (const isHttp of [false, true]) {
      for (const name of targetNames(generation, isHttp))
        t.true(stdout.includes(name.replace(/^generation ., /, '')), name);
    }
  }
});

test('the target names match those of the command line', (t) => {
  for (const generation of [2, 3] as const) {
    const reference = referencePackage(generation);
    const targets = targetsOf({ package: reference, handlers: doubleOf(reference) });
    t.deepEqual(
      targets.map(({ name }) => name),
      [...targetNames(generation, false)],
    );
  }
});

test('a short run compares the chosen targets and prints so, with its progress on stderr', (t) => {
  const { status, stdout, stderr } = run('--generation', '3', '--only', 'headers', '--cases', '30', '--seed', '1');
  t.is(status, 0, stdout);
  t.regex(stdout, /^generation 3, headers: 30 cases/m);
  t.regex(
    stdout,
    /^ {2}known: .*, row "The reference refuses a block in JSON if `id` is missing .*" of docs\/protocol\/rule-differences\.md$/m,
  );
  t.is(stderr, 'generation 3, headers: 30 cases\n');
});
