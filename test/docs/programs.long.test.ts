/**
 * Tests the command lines of the programs behind the scripts in package.json, such as `npm run sim`. A mistyped flag
 * must cause an error. Otherwise a user could believe that a run with this flag has passed.
 */

import test from 'ava';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

const directory = packageDirectory();
const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const programs = Object.entries(scripts).flatMap(([name, command]) => {
  const [file] = /dist\/test\/[a-z/-]+\.js$/.exec(command) ?? [];
  return file === undefined ? [] : [{ name, file }];
});

function run(file: string, flag: string) {
  return spawnSync(process.execPath, [join(directory, file), flag], { encoding: 'utf8', timeout: 60_000 });
}

test('the scripts run at least twelve programs', (t) => {
  t.true(programs.length >= 12, String(programs.length));
});

for (const { name, file } of programs) {
  test(`\`npm run ${name} -- --help\` describes the program and its options`, (t) => {
    const { status, stdout } = run(file, '--help');
    t.is(status, 0);
    t.regex(stdout, /^Usage: \S+ \[options\]\n\n[A-Z][^]+\n\nOptions:\n/);
  });

  test(`\`npm run ${name}\` refuses an unknown flag before it does anything`, (t) => {
    const { status, stdout, stderr } = run(file, '--nosuch');
    t.is(status, 2);
    t.is(stdout, '');
    t.regex(stderr, /^error: .*'--(nosuch|dir <directory>)'.*\n$/);
  });
}
