/**
 * Compiles TypeScript to JavaScript, one file for one, by stripping the types. The sources use erasable syntax only, so what
 * runs is what was written.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** An import as the compiler prints it: sources name the `.ts` file, Node has to find the `.js` file. */
const RELATIVE_IMPORT = /(\bfrom |\bimport |\bimport\()"(\.{1,2}\/[^"\n]*)\.ts"/g;

/**
 * Writes each file below `target` with a source map beside it.
 *
 * @param {{ root: string, files: readonly string[], target: string }} parts `files` are absolute, below `root`
 * @throws an error with `errors` when a source cannot be compiled, after it was told on standard error
 */
export async function compileSources({ root, files, target }) {
  // A development package: a person who only runs what was built has none.
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
    // The new ending is as long as the old one, so the source map stays true.
    const isMap = file.path.endsWith('.map');
    writeFileSync(file.path, isMap ? file.contents : file.text.replace(RELATIVE_IMPORT, '$1"$2.js"'));
  }
}
