/**
 * Writes the interactive documentation of the HTTP interface into a folder: the page `index.html`, the assets of this
 * page in the folder `assets/`, and the licences in `LICENSES.txt`. The assets are compressed with gzip; the other
 * files are not. The name of an asset contains a part of the hash of its uncompressed content. The files of the library
 * (`swagger-ui-dist`) are the published files without their references to source maps.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { packageIn } from './bundled.js';

const HASH_CHARACTERS = 8;
const LIBRARY_FILES = ['swagger-ui-bundle.js', 'swagger-ui.css'];
/** Files that the licence requires to be shipped. */
const LICENCE_FILES = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'];

const pack = promisify(gzip);

/**
 * @param {string} page folder of the dashboard's sources, with the API documentation in `api-docs/`
 * @param {string} target folder that is emptied first
 * @returns the packages that are in the API documentation
 */
export async function bundleApiDocs(page, target) {
  const source = path.join(page, 'api-docs');
  const library = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const assets = [
    ...(await ownAssets(page, source)),
    ...LIBRARY_FILES.map((name) => ({ name, bytes: withoutMap(readFileSync(path.join(library, name))) })),
    { name: 'favicon.svg', bytes: readFileSync(path.join(page, 'favicon.svg')) },
  ];
  const packed = await Promise.all(assets.map(async ({ name, bytes }) => ({ name, bytes: await pack(bytes) })));
  rmSync(target, { recursive: true, force: true });
  mkdirSync(path.join(target, 'assets'), { recursive: true });
  let html = readFileSync(path.join(source, 'index.html'), 'utf8');
  for (const [index, { name, bytes }] of packed.entries()) {
    const { name: stem, ext } = path.parse(name);
    const hash = createHash('sha256').update(assets[index].bytes).digest('hex').slice(0, HASH_CHARACTERS);
    const hashed = `${stem}-${hash}${ext}`;
    if (!html.includes(`/assets/api-docs/${name}"`)) throw new Error(`index.html does not name ${name}`);
    html = html.replace(`/assets/api-docs/${name}"`, `/assets/api-docs/${hashed}"`);
    writeFileSync(path.join(target, 'assets', `${hashed}.gz`), bytes);
  }
  writeFileSync(path.join(target, 'index.html'), html);
  const licences = LICENCE_FILES.map((name) => readFileSync(path.join(library, name), 'utf8').trim());
  writeFileSync(path.join(target, 'LICENSES.txt'), `${licences.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
  return [packageIn(library)];
}

async function ownAssets(page, source) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: ['api-docs.ts', 'api-docs.css'].map((file) => path.join(source, file)),
    outdir: source,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['es2022', 'chrome105', 'firefox115', 'safari16'],
    tsconfig: path.join(page, 'tsconfig.json'),
    legalComments: 'none',
    logLevel: 'warning',
  });
  return outputFiles.map(({ path: file, contents }) => ({ name: path.basename(file), bytes: contents }));
}

/** Removes the reference to the source map, because source maps are not served. */
function withoutMap(bytes) {
  return Buffer.from(bytes.toString('utf8').replace(/\n?(?:\/\/|\/\*)# sourceMappingURL=.*\s*$/, '\n'));
}
