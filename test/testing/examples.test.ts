/** Runs the examples of the guides in folders in which Bloomery is installed as a package. */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { packageDirectory } from '../../src/config/package.ts';
import { copySampleProject, passedTests, readSampleManifest, RUNNERS, TESTS } from '../package/sample-project.ts';
import { temporaryFolder } from '../support/network-folder.ts';

const EXAMPLES = join(packageDirectory(), 'docs/examples');

/**
 * Creates a folder in which Bloomery and the given packages are installed. @param packages for each package
 * name, the folder in our `node_modules`
 */
function installed(t: ExecutionContext, packages: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(packageDirectory(), join(folder, 'node_modules/bloomery'));
  for (const [name, place] of Object.entries(packages)) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(packageDirectory(), 'node_modules', place), join(folder, 'node_modules', name));
  }
  return folder;
}

/** The environment without the variables that this test's runner sets for its own processes. */
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

test('the sample project passes its tests in node --test', async (t) => {
  t.timeout(300_000);
  const folder = installed(t);
  copySampleProject(folder);
  t.is(passedTests(await run(folder, '--test', 'shop.node-test.mjs')), TESTS);
});

test('the sample project passes its tests in ava', async (t) => {
  t.timeout(300_000);
  const folder = installed(t, { ava: 'ava' });
  copySampleProject(folder);
  const ava = join(packageDirectory(), 'node_modules/ava/entrypoints/cli.mjs');
  t.is(passedTests(await run(folder, ava, '--timeout=5m')), TESTS);
});

test('the sample project has a script for each runner, and depends on the runners that are packages', (t) => {
  const { scripts, devDependencies = {} } = readSampleManifest();
  t.deepEqual(
    Object.keys(scripts),
    RUNNERS.map((runner) => `test:${runner}`),
  );
  t.deepEqual(Object.keys(devDependencies).sort(), RUNNERS.filter((runner) => runner !== 'node').sort());
});

test('the test of the client example passes', async (t) => {
  t.timeout(300_000);
  const folder = installed(t, { '@liskhq/lisk-transactions': 'lisk-transactions-3' });
  const example = 'payment.node-test.mjs';
  copyFileSync(join(EXAMPLES, example), join(folder, example));
  t.is(passedTests(await run(folder, '--test', example)), 1);
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
