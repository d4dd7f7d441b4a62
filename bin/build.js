/**
 * Builds `dist/` when something changed since the last build, and says nothing when nothing did: `node bin/build.js`.
 *
 * A stamp in `dist/` holds a fingerprint (path, size, time) of everything that the build reads. Builds that start at the
 * same moment wait for each other behind a lock folder. Exit code 1, with the compiler's lines, when it fails.
 *
 * `dist/src/build.json` tells a node its version, the time of the build and, where this is a repository, the commit.
 *
 * A build strips types and does not check them, which takes a second instead of twenty: `npm run check` checks them.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bundleDashboard } from './bundle.js';
import { compileSources } from './compile.js';
import { writeDeclarations } from './declarations.js';
import { areProgramsThere, bundlePrograms } from './programs.js';
import { bundleReference } from './reference.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = path.join(ROOT, 'dist');
const COMMIT = /^[0-9a-f]{40}$/;
const STAMP = path.join(DIST, '.stamp');
const LOCK = path.join(DIST, '.lock');
const RECORD = path.join(DIST, 'src', 'build.json');
const BUNDLED = path.join(DIST, 'src', 'bundled.json');

const SOURCES = ['src', 'test'];
const SETTINGS = [
  'tsconfig.json',
  'package.json',
  'package-lock.json',
  'bin/build.js',
  'bin/bundle.js',
  'bin/bundled.js',
  'bin/compile.js',
  'bin/declarations.js',
  'bin/programs.js',
  'bin/reference.js',
];
/** The page that browsers run is not compiled for Node but bundled. */
const PAGE = path.join(ROOT, 'src', 'dashboard', 'page');
const BUNDLE = path.join(DIST, 'src', 'dashboard', 'bundle');
/** The interactive reference of the HTTP interface. */
const REFERENCE = path.join(DIST, 'src', 'dashboard', 'reference');
/** The programs of the product, each in one file: what `bin/bloomery.js` runs. */
const PROGRAMS = path.join(DIST, 'src', 'bundle');

const PAGE_FILES = ['.tsx', '.css', '.html', '.svg', '.json'];

/** A build takes seconds; a lock this old was left by one that was killed. */
const LOCK_STALE_MS = 120_000;
const LOCK_POLL_MS = 100;

process.exitCode = await build();

async function build() {
  if (stamped() === fingerprint()) {
    noteCommit();
    return 0;
  }
  mkdirSync(DIST, { recursive: true });
  await lock();
  try {
    // Taken before the compiler reads: a file that changes meanwhile leads to another build, never to a stale one.
    const wanted = fingerprint();
    if (stamped() === wanted) return 0;
    rmSync(STAMP, { force: true });
    // The caller's standard output may be data (`--json`), so the build speaks on standard error.
    console.error('building dist/');
    const files = SOURCES.flatMap((folder) => filesIn(path.join(ROOT, folder), '.ts'));
    await compileSources({
      root: ROOT,
      files: files.filter((file) => !file.startsWith(`${PAGE}${path.sep}`)),
      target: DIST,
    });
    removeOrphans();
    // Packing the library is other threads' work.
    const reference = bundleReference(PAGE, REFERENCE);
    const page = await bundleDashboard(PAGE, BUNDLE);
    const programs = await bundlePrograms({ root: ROOT, target: PROGRAMS });
    writeBundled([...page, ...(await reference), ...programs]);
    await writeDeclarations({ root: ROOT, target: path.join(DIST, 'src') });
    writeRecord({ version: packageVersion(), time: `${new Date().toISOString().slice(0, 19)}Z`, commit: commit() });
    writeFileSync(STAMP, wanted);
    return 0;
  } catch (error) {
    console.error(reasonOf(error));
    return 1;
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** The fingerprint that was built; undefined when there is none, or when part of its output is gone. */
function stamped() {
  return existsSync(STAMP) && outputIsThere() ? readFileSync(STAMP, 'utf8') : undefined;
}

function outputIsThere() {
  const isCompiled = SOURCES.every((folder) => existsSync(path.join(DIST, folder)));
  return (
    isCompiled &&
    [RECORD, BUNDLED, BUNDLE].every((file) => existsSync(file)) &&
    existsSync(REFERENCE) &&
    areProgramsThere(PROGRAMS)
  );
}

/** A commit may change without any source: the record of an older build then names the wrong one. */
function noteCommit() {
  const record = JSON.parse(readFileSync(RECORD, 'utf8'));
  const now = commit();
  if (record.commit !== now) writeRecord({ ...record, commit: now });
}

/** Replaces it at once: a node may read it at any moment. */
function writeRecord(record) {
  const draft = `${RECORD}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(record)}\n`);
  renameSync(draft, RECORD);
}

/** What is in the bundles, for the bill of materials: packages that are installed only for a build are shipped in them. */
function writeBundled(packages) {
  const names = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  writeFileSync(BUNDLED, `${JSON.stringify([...names].sort(), undefined, 2)}\n`);
}

function packageVersion() {
  return JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version;
}

/**
 * The commit that is built: what the environment says (`BUILD_COMMIT`, for sources without a repository), else that of this
 * repository. Empty where the package lies in no repository of its own.
 */
function commit() {
  const said = process.env.BUILD_COMMIT ?? '';
  if (COMMIT.test(said)) return said;
  if (!existsSync(path.join(ROOT, '.git'))) return '';
  try {
    const options = { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['rev-parse', '--verify', 'HEAD'], options).trim();
  } catch {
    return commitInFiles(path.join(ROOT, '.git'));
  }
}

/** The same where there is no git, as in the image that builds the container: its files say it. */
function commitInFiles(folder) {
  const read = (file) => {
    try {
      return readFileSync(path.join(folder, file), 'utf8');
    } catch {
      return '';
    }
  };
  const head = read('HEAD').trim();
  const branch = /^ref: (refs\/\S+)$/.exec(head)?.[1];
  const packed = read('packed-refs')
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, name]) => name === branch)?.[0];
  const found = branch === undefined ? head : read(branch).trim() || (packed ?? '');
  return COMMIT.test(found) ? found : '';
}

function fingerprint() {
  const lines = SETTINGS.map((file) => path.join(ROOT, file))
    .concat(SOURCES.flatMap((folder) => filesIn(path.join(ROOT, folder), '.ts')))
    .concat(PAGE_FILES.flatMap((extension) => filesIn(PAGE, extension)))
    .filter((file) => existsSync(file))
    .map((file) => {
      const { size, mtimeMs } = statSync(file);
      return `${path.relative(ROOT, file)} ${size} ${mtimeMs}`;
    });
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

function filesIn(folder, extension) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(extension))
    .map((file) => path.join(folder, file))
    .sort();
}

/** What went wrong, for somebody who started a build. The compiler has shown errors in sources by itself. */
function reasonOf(error) {
  if (error.code === 'ERR_MODULE_NOT_FOUND') return 'the packages of a build are not installed: run "npm ci" first';
  return Array.isArray(error.errors) ? 'the sources cannot be compiled' : (error.stack ?? String(error));
}

/** Removes the output of sources that are gone: a deleted test must not run on. */
function removeOrphans() {
  for (const folder of SOURCES) {
    for (const file of filesIn(path.join(DIST, folder), '.js')) {
      if ([BUNDLE, PROGRAMS].some((folder) => file.startsWith(`${folder}${path.sep}`))) continue;
      const source = path.join(ROOT, path.relative(DIST, file)).replace(/\.js$/, '.ts');
      if (existsSync(source)) continue;
      rmSync(file);
      rmSync(`${file}.map`, { force: true });
    }
  }
}

/** Takes the lock: a folder, because making one either succeeds or fails for exactly one of two builds. */
async function lock() {
  for (;;) {
    try {
      mkdirSync(LOCK);
      writeFileSync(path.join(LOCK, 'pid'), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (abandoned()) rmSync(LOCK, { recursive: true, force: true });
    else await sleep(LOCK_POLL_MS);
  }
}

function abandoned() {
  try {
    if (Date.now() - statSync(LOCK).mtimeMs > LOCK_STALE_MS) return true;
    const pid = Number(readFileSync(path.join(LOCK, 'pid'), 'utf8'));
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    // ESRCH: its owner is gone. ENOENT: released just now, or not signed yet by an owner that lives.
    return error.code === 'ESRCH';
  }
}
