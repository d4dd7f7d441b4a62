/**
 * The program of `npm run package-check`. It packs the package with `npm pack`, and checks the list of packed files. In
 * an empty folder, it then uses npx to run the command `version` and a devnet from the packed package. Finally, it
 * installs the package into a sample project, and runs the tests of the project in four test runners. npm may download
 * dependencies from the registry. If npm cannot install a test runner, the program prints a message and skips this
 * runner.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';
import { freePortRanges } from '../support/ports.ts';
import { MachineWatch } from '../support/machine.ts';
import { testProgram } from '../support/program.ts';
import { copySampleProject, passedTests, RUNNERS, TESTS, type Runner } from './sample-project.ts';

testProgram('package-check', 'Packs the package, and tries it in an empty folder and in a sample project').parse();
const folder = mkdtempSync(join(tmpdir(), 'bloomery-package-'));
const MINUTES_MS = 60_000;
/** Time limit for all tests of the sample project in one runner, including the start and end of the runner. */
const RUNNER_S_MAX = 10;

function run(cwd: string, command: string, ...args: readonly string[]): string {
  const env = { ...process.env, HOME: folder, BLOOMERY_HOME: join(folder, 'home') };
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 5 * MINUTES_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function install(cwd: string, ...packages: readonly string[]): void {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run(cwd, 'npm', 'install', ...quiet, '--save-dev', ...packages);
}

/** @returns false if npm could not install the runner */
async function tryRunner(app: string, runner: Runner, range: string | undefined): Promise<boolean> {
  try {
    if (range !== undefined) install(app, `${runner}@${range}`);
  } catch {
    console.error(
      `SKIPPED: the tests in ${runner}, because npm could not install ${runner}@${range} (its lines are above)`,
    );
    return false;
  }
  const startedMs = performance.now();
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', `test:${runner}`], {
    ...{ cwd: app, encoding: 'utf8', timeout: MINUTES_MS },
    env: { ...process.env, BLOOMERY_HOME: join(folder, 'home'), CI: 'true' },
  });
  const tookS = (performance.now() - startedMs) / 1000;
  const output = `${stdout}\n${stderr}`;
  if (status !== 0 || passedTests(output) !== TESTS)
    throw new Error(`not all ${TESTS} tests of the sample project passed in ${runner}:\n${output}`);
  console.log(`${runner}: ${TESTS} tests of the sample project passed after ${tookS.toFixed(1)} s`);
  if (tookS <= RUNNER_S_MAX) return true;
  const words = `${runner} took longer than ${RUNNER_S_MAX} s`;
  if (await new MachineWatch().wasQuick()) throw new Error(words);
  console.error(`NOT JUDGED: ${words}, on a busy machine`);
  return true;
}

try {
  const [packed] = JSON.parse(run(packageDirectory(), 'npm', 'pack', '--json', '--pack-destination', folder)) as {
    filename: string;
    size: number;
    files: { path: string }[];
  }[];
  if (packed === undefined) throw new Error('nothing was packed');
  const paths = packed.files.map(({ path }) => path);
  const strays = paths.filter(
    (path) => !/^(bin|dist\/src|networks|docs)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/.test(path),
  );
  if (strays.length > 0) throw new Error(`the package holds ${strays.join(', ')}`);
  for (const needed of [
    'dist/src/bundle/main.js',
    'dist/src/bundle/agent-program.js',
    'dist/src/bundle/LICENSES.txt',
    'dist/src/bundle/client.js',
    'dist/src/bundle/testing.js',
    'dist/src/client/index.d.ts',
    'dist/src/testing/index.d.ts',
    'dist/src/build.json',
    'dist/src/dashboard/bundle/index.html',
    'networks/devnet/network.json',
  ])
    if (!paths.includes(needed)) throw new Error(`the package lacks ${needed}`);
  console.log(`packed: ${paths.length} files, ${Math.round(packed.size / 1000)} kB`);

  const empty = join(folder, 'empty');
  mkdirSync(empty);
  writeFileSync(join(empty, '.npmrc'), 'ignore-scripts=true\nfund=false\naudit=false\n');
  const file = join(folder, packed.filename);
  const version = run(empty, 'npx', '--yes', `--package=${file}`, 'bloomery', 'version').trim();
  console.log(`npx: version ${version}`);
  const record = run(folder, 'tar', '-xzOf', file, 'package/dist/src/build.json');
  const { commit } = JSON.parse(record) as { commit: string };
  if (!/^[0-9a-f]{40}$/.test(commit)) throw new Error(`the package names no commit: ${record}`);
  const ports = await freePortRanges(4);
  const flags = ['--http-port', `${ports.http}`, '--ws-port', `${ports.ws}`, '--data-dir', join(folder, 'devnet')];
  const devnet = run(
    empty,
    'npx',
    '--yes',
    `--package=${file}`,
    'bloomery',
    'devnet',
    ...flags,
    '--until-height',
    '4',
    '--json',
  );
  const { nodes } = JSON.parse(devnet) as { nodes: { height: number; blockId: string }[] };
  if (nodes.length !== 4 || new Set(nodes.map(({ blockId }) => blockId)).size !== 1)
    throw new Error(`the devnet printed ${devnet}`);
  if (readdirSync(empty).some((name) => name !== '.npmrc') || !existsSync(join(folder, 'devnet')))
    throw new Error('the folder is not as it was');
  console.log('a devnet of four agreed on a block');

  const app = join(folder, 'app');
  const versions = copySampleProject(app);
  install(app, file);
  const skipped: Runner[] = [];
  for (const runner of RUNNERS) if (!(await tryRunner(app, runner, versions[runner]))) skipped.push(runner);
  run(app, process.execPath, '--input-type=module', '-e', "await import('bloomery/client')");
  const without = skipped.length === 0 ? '' : `, WITHOUT the tests of ${skipped.join(' and ')}`;
  console.log(`package-check passed${without}`);
} catch (error) {
  console.error(`package-check failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
