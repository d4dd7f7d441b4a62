/** The examples of the guides are run as a user runs them. */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const EXAMPLES = join(packageDirectory(), 'docs/examples');

/** A project that has installed the package and what its tests need. @param packages where each lies here, by its name there */
function project(t: ExecutionContext, example: string, packages: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(packageDirectory(), join(folder, 'node_modules/bloomery'));
  for (const [name, place] of Object.entries(packages)) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(packageDirectory(), 'node_modules', place), join(folder, 'node_modules', name));
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'sample', type: 'module' }));
  copyFileSync(join(EXAMPLES, example), join(folder, example));
  return folder;
}

/** Without what the runner of this test tells its own processes. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|AVA|TEST)/.test(name)));
}

async function run(folder: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd: folder, env: environment(), timeout: 280_000 };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args], options).catch((error: unknown) => {
    throw new Error(`${String((error as { stdout?: string }).stdout)}${String((error as { stderr?: string }).stderr)}`);
  });
  return stdout + stderr;
}

test('the example for node --test passes', async (t) => {
  t.timeout(300_000);
  const output = await run(project(t, 'shop.node-test.mjs'), '--test', 'shop.node-test.mjs');
  t.regex(output, /pass 4\b/);
  t.regex(output, /fail 0\b/);
});

test('the example of the client passes', async (t) => {
  t.timeout(300_000);
  const folder = project(t, 'payment.node-test.mjs', { '@liskhq/lisk-transactions': 'lisk-transactions-3' });
  const output = await run(folder, '--test', 'payment.node-test.mjs');
  t.regex(output, /pass 1\b/);
  t.regex(output, /fail 0\b/);
});

test('the example for ava passes', async (t) => {
  t.timeout(300_000);
  const folder = project(t, 'reorg.ava.mjs', { ava: 'ava' });
  const output = await run(
    folder,
    join(packageDirectory(), 'node_modules/ava/entrypoints/cli.mjs'),
    '--timeout=5m',
    'reorg.ava.mjs',
  );
  t.regex(output, /1 test passed/);
});

test('each example is named in a guide', (t) => {
  const guides = join(packageDirectory(), 'docs/guides');
  const texts = readdirSync(guides).map((name) => readFileSync(join(guides, name), 'utf8'));
  for (const name of readdirSync(EXAMPLES)) {
    t.true(
      texts.some((text) => text.includes(`../examples/${name}`)),
      name,
    );
  }
});
