/**
 * Builds `dist/` when something changed since the last build: `node bin/build.js`. Without a change, the build prints
 * nothing.
 *
 * A stamp in `dist/` holds a fingerprint (path, size, time) of the sources and the settings of the build, but not of
 * the installed packages. Builds that start at the same moment wait for each other behind a lock folder. If the build
 * fails, the exit code is 1, and the compiler's errors are printed.
 *
 * `dist/src/build.json` contains the version, the time of the build, and the commit (empty if it is unknown), for the
 * node to report.
 *
 * A build strips types and does not check them, so it takes a second instead of twenty. `npm run check` checks the
 * types.
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
import { bundleApiDocs } from './api-docs.js';

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
  'bin/api-docs.js',
];
/** The sources of the page for browsers. The page is bundled, and not compiled for Node. */
const PAGE = path.join(ROOT, 'src', 'dashboard', 'page');
const BUNDLE = path.join(DIST, 'src', 'dashboard', 'bundle');
/** The interactive documentation of the HTTP interface. */
const API_DOCS = path.join(DIST, 'src', 'dashboard', 'api-docs');
/** Folder of the product's bundled programs. `bin/bloomery.js` runs the program `main` in this folder. */
const PROGRAMS = path.join(DIST, 'src', 'bundle');

const PAGE_FILES = ['.tsx', '.css', '.html', '.svg', '.json'];

/** Age at which a lock counts as left by a killed build. A build takes seconds. */
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
    // The fingerprint is taken before the compiler reads the files. A file that changes meanwhile then causes another
    // build.
    const wanted = fingerprint();
    if (stamped() === wanted) return 0;
    rmSync(STAMP, { force: true });
    // The caller's standard output may be data (`--json`), so the build writes to standard error.
    console.error('building dist/');
    const files = SOURCES.flatMap((folder) => filesIn(path.join(ROOT, folder), '.ts'));
    await compileSources({
      root: ROOT,
      files: files.filter((file) => !file.startsWith(`${PAGE}${path.sep}`)),
      target: DIST,
    });
    removeOrphans();
    // `bundleApiDocs` compresses the files of the API documentation on other threads. During this time, the main thread
    // bundles the dashboard and the programs.
    const apiDocs = bundleApiDocs(PAGE, API_DOCS);
    const page = await bundleDashboard(PAGE, BUNDLE);
    const programs = await bundlePrograms({ root: ROOT, target: PROGRAMS });
    writeBundled([...page, ...(await apiDocs), ...programs]);
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

/** The fingerprint of the last build; undefined when there is no build, or when a part of its output is missing. */
function stamped() {
  return existsSync(STAMP) && outputIsThere() ? readFileSync(STAMP, 'utf8') : undefined;
}

function outputIsThere() {
  const isCompiled = SOURCES.every((folder) => existsSync(path.join(DIST, folder)));
  return (
    isCompiled &&
    [RECORD, BUNDLED, BUNDLE].every((file) => existsSync(file)) &&
    existsSync(API_DOCS) &&
    areProgramsThere(PROGRAMS)
  );
}

/**
 * Writes the id of the current commit to the record of the last build. The commit can change without a change of the
 * source files on the disk, for example when changes are committed that are built already. This causes no new build, so
 * the record would otherwise keep the id of an older commit.
 */
function noteCommit() {
  const record = JSON.parse(readFileSync(RECORD, 'utf8'));
  const now = commit();
  if (record.commit !== now) writeRecord({ ...record, commit: now });
}

/** Replaces the record in one step, because a node may read it at any moment. */
function writeRecord(record) {
  const draft = `${RECORD}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(record)}\n`);
  renameSync(draft, RECORD);
}

/**
 * Writes the list of the packages in the bundles, for the bill of materials. Some of these packages are installed only
 * for a build. They belong in the bill nevertheless, because the bundles contain files of them.
 */
function writeBundled(packages) {
  const names = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  writeFileSync(BUNDLED, `${JSON.stringify([...names].sort(), undefined, 2)}\n`);
}

function packageVersion() {
  return JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version;
}

/**
 * Returns the id of the commit that is built. If the environment variable `BUILD_COMMIT` contains the id of a commit,
 * the function returns this id. Otherwise, it returns the commit of this repository. The result is empty if the
 * variable contains no id and the package has no repository.
 */
function commit() {
  const given = process.env.BUILD_COMMIT ?? '';
  if (COMMIT.test(given)) return given;
  if (!existsSync(path.join(ROOT, '.git'))) return '';
  try {
    const options = { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['rev-parse', '--verify', 'HEAD'], options).trim();
  } catch {
    return commitInFiles(path.join(ROOT, '.git'));
  }
}

/**
 * Reads the commit from the files of the repository where there is no git, as in the image that builds the container.
 */
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

/** The reason why a build failed, for its user. The compiler has already printed the errors in sources. */
function reasonOf(error) {
  if (error.code === 'ERR_MODULE_NOT_FOUND') return 'the packages of a build are not installed: run "npm ci" first';
  return Array.isArray(error.errors) ? 'the sources cannot be compiled' : (error.stack ?? String(error));
}

/** Removes the output of deleted sources, so that a deleted test does not run. */
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

/** Takes the lock, which is a folder: of two builds, only one succeeds in creating a folder. */
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
    // ESRCH: the owner of the lock has ended. ENOENT: the lock was just released, or its owner has not written its
    // process id yet.
    return error.code === 'ESRCH';
  }
}
