/**
 * Bundles each program of the product with the modules and packages that the program loads, except packages with
 * compiled parts (`NATIVE`). The bundles are in a folder of their own. Beside this folder are the unbundled modules
 * that the compiler wrote. Without bundles, a node reads 760 modules one by one, which takes two thirds of its start.
 *
 * A program in `PROGRAMS` consists of one file and of chunks, which are further files. The file contains code that the
 * program needs at its start. Code that several programs or several `import()` calls need is in shared chunks. Code
 * that a program loads with `import()` is in chunks, too, and the program reads these chunks only when it needs them.
 * Therefore `bloomery start` loads the definitions of the devnet commands, but not the code that runs a devnet.
 *
 * A program in `WHOLE_PROGRAMS` needs nearly all of its code at once. Such a program is one file, because reading
 * thirty chunks would take a quarter of its start.
 */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { licencesOf, packagesOf } from './bundled.js';

/**
 * Names of the programs, and their sources below `src`. A program finds another program beside itself by its name
 * (`programBeside`).
 */
export const PROGRAMS = {
  main: 'cli/main.ts',
  'reader-program': 'node/readers/reader-program.ts',
  'watchdog-worker': 'node/watchdog/watchdog-worker.ts',
  'line-worker': 'workers/line-worker.ts',
  'verify-worker': 'workers/verify-worker.ts',
};

/** Programs that are bundled into one file each. */
export const WHOLE_PROGRAMS = {
  'agent-program': 'cli/devnet/agent-program.ts',
  testing: 'testing/index.ts',
};

/**
 * V8 reads a whole program at its start, including white space. Names are kept for stack traces. The limit on the
 * length of lines keeps the report of an uncaught error short, because the report prints the line.
 */
const SHORT = { minifyWhitespace: true, minifySyntax: true, lineLimit: 300 };

/** `bloomery/client`, below `src`. */
const CLIENT = 'client/index.ts';

/** Packages with compiled parts. These packages look for their compiled parts beside their own files. */
const NATIVE = ['lmdb', 'sodium-native'];

/** Packages in CommonJS format call `require` for Node's modules at run time. */
const REQUIRE =
  "import { createRequire as requireBeside } from 'node:module'; const require = requireBeside(import.meta.url);";

/**
 * @param {{ root: string, target: string }} parts `target` is emptied first
 * @returns the packages that are in the programs
 * @throws an error with `errors` when a source cannot be compiled; the errors are already on standard error
 */
export async function bundlePrograms({ root, target }) {
  // esbuild is a development package. esbuild is missing where only the built program is installed.
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
    // The client runs in browsers, so it must not contain modules of Node.
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
