/**
 * `npm run package-check`: packs the package, installs it from the file into an empty folder as npx does, and runs it there:
 * commands, the dashboard, a devnet; and installs it into a project whose tests use it. Needs the registry for the dependencies.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';
import { freePortRanges } from '../support/ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-package-'));
const MINUTES_MS = 60_000;

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
    throw new Error(`the devnet said ${devnet}`);
  if (readdirSync(empty).some((name) => name !== '.npmrc') || !existsSync(join(folder, 'devnet')))
    throw new Error('the folder is not as it was');
  console.log('a devnet of four agreed on a block');

  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'sample', type: 'module', private: true }));
  run(app, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', file);
  const example = 'shop.node-test.mjs';
  copyFileSync(join(packageDirectory(), 'docs/examples', example), join(app, example));
  const startedMs = performance.now();
  run(app, process.execPath, '--test', example);
  console.log(`its tests passed after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  run(app, process.execPath, '--input-type=module', '-e', "await import('bloomery/client')");
  console.log('package-check passed');
} catch (error) {
  console.error(`package-check failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
