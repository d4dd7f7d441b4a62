/**
 * Compiles each TypeScript file to one JavaScript file, by stripping the types. The sources use only erasable syntax,
 * so the compiled code is the written code without types.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** An import as the compiler prints it. Sources name the `.ts` file, but Node must find the `.js` file. */
const RELATIVE_IMPORT = /(\bfrom |\bimport |\bimport\()"(\.{1,2}\/[^"\n]*)\.ts"/g;

/**
 * Writes each file below `target` with a source map beside it.
 *
 * @param {{ root: string, files: readonly string[], target: string }} parts `files` are absolute, below `root`
 * @throws an error with `errors` when a source cannot be compiled; the errors are already on standard error
 */
export async function compileSources({ root, files, target }) {
  // esbuild is a development package. esbuild is missing where only the built program is installed.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [...files],
    outbase: root,
    outdir: target,
    bundle: false,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    sourcemap: true,
    sourcesContent: false,
    tsconfig: path.join(root, 'tsconfig.json'),
    logLevel: 'warning',
  });
  for (const folder of new Set(outputFiles.map((file) => path.dirname(file.path))))
    mkdirSync(folder, { recursive: true });
  for (const file of outputFiles) {
    // The new ending is as long as the old one, so the source map stays valid.
    const isMap = file.path.endsWith('.map');
    writeFileSync(file.path, isMap ? file.contents : file.text.replace(RELATIVE_IMPORT, '$1"$2.js"'));
  }
}
