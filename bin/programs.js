/**
 * Bundles each program of the product with all that it loads, beside the files that the compiler leaves. A node that reads its 760
 * modules one by one spends two thirds of its start on that.
 *
 * What one program alone uses stays in its file and what several use is in chunks, so that `bloomery start` loads nothing that
 * is for a devnet. `import()` stays what it is: a part that is loaded when it is needed. Programs that need nearly all of it at
 * once are whole files: thirty chunks take a quarter of the time in which they are read.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { licencesOf, packagesOf } from './bundled.js';

/** Their names, and their sources below `src`. A program finds another one beside itself by its name (`programBeside`). */
export const PROGRAMS = {
  main: 'cli/main.ts',
  'reader-program': 'node/readers/reader-program.ts',
  'watchdog-worker': 'node/watchdog/watchdog-worker.ts',
  'line-worker': 'workers/line-worker.ts',
  'verify-worker': 'workers/verify-worker.ts',
};

/** The same, each in one file. */
export const WHOLE_PROGRAMS = {
  'agent-program': 'cli/devnet/agent-program.ts',
  testing: 'testing/index.ts',
};

/** V8 reads the whole of a program at its start, the blanks as well; names stay, for traces. An uncaught error prints its line. */
const SHORT = { minifyWhitespace: true, minifySyntax: true, lineLimit: 300 };

/** `bloomery/client`, below `src`. */
const CLIENT = 'client/index.ts';

/** Packages with compiled parts: they look for them beside their own files. */
const NATIVE = ['lmdb', 'sodium-native'];

/** Packages in the CommonJS form ask for Node's modules at run time. */
const REQUIRE =
  "import { createRequire as requireBeside } from 'node:module'; const require = requireBeside(import.meta.url);";

/**
 * @param {{ root: string, target: string }} parts `target` is made anew
 * @returns the packages that are in the programs
 * @throws an error with `errors` when a source cannot be compiled, after it was told on standard error
 */
export async function bundlePrograms({ root, target }) {
  // A development package: a person who only runs what was built has none.
  const { build } = await import('esbuild');
  const options = {
    absWorkingDir: path.resolve(root),
    outdir: target,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: NATIVE,
    banner: { js: REQUIRE },
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    tsconfig: path.join(root, 'tsconfig.json'),
    logLevel: 'warning',
  };
  const entryPoints = (programs) =>
    Object.entries(programs).map(([out, file]) => ({ in: path.join(root, 'src', file), out }));
  const builds = await Promise.all([
    build({ ...options, entryPoints: entryPoints(PROGRAMS), chunkNames: 'chunk-[hash]', splitting: true }),
    build({ ...options, entryPoints: entryPoints(WHOLE_PROGRAMS), ...SHORT }),
  ]);
  const client = await build({
    entryPoints: [{ in: path.join(root, 'src', CLIENT), out: 'client' }],
    outdir: target,
    bundle: true,
    write: false,
    metafile: true,
    absWorkingDir: path.resolve(root),
    format: 'esm',
    // It runs in browsers, so nothing of Node may be in it.
    platform: 'browser',
    target: 'es2022',
    sourcemap: true,
    sourcesContent: false,
    tsconfig: path.join(root, 'tsconfig.json'),
    logLevel: 'warning',
  });
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const file of [...builds, client].flatMap(({ outputFiles }) => outputFiles))
    writeFileSync(file.path, file.contents);
  const packages = packagesOf(
    root,
    [...builds, client].flatMap(({ metafile }) => Object.keys(metafile.inputs)),
  );
  writeFileSync(path.join(target, 'LICENSES.txt'), licencesOf(packages));
  return packages;
}

/** Whether all programs were bundled into the folder. */
export function areProgramsThere(target) {
  return [...Object.keys({ ...PROGRAMS, ...WHOLE_PROGRAMS }), 'client'].every((name) =>
    existsSync(path.join(target, `${name}.js`)),
  );
}
