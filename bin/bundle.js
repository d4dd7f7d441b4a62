/**
 * Bundles the dashboard into a folder: the page `index.html`, the assets of this page in the folder `assets/`, and the
 * licences in `LICENSES.txt`. The name of an asset contains a part of the hash of its content, so that a browser can
 * cache the asset forever.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { licencesOf, packagesOf } from './bundled.js';

const HASH_CHARACTERS = 8;

/**
 * @param {string} source folder of the page's sources
 * @param {string} target folder that is emptied first
 * @returns the packages that are in the page
 */
export async function bundleDashboard(source, target) {
  // esbuild is a development package. esbuild is missing where only the built program is installed.
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: ['main.tsx', 'dashboard.css'].map((file) => path.join(source, file)),
    outdir: target,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: ['es2022', 'chrome105', 'firefox115', 'safari16'],
    tsconfig: path.join(source, 'tsconfig.json'),
    legalComments: 'none',
    logLevel: 'warning',
  });
  const assets = outputFiles.map((file) => ({ name: path.basename(file.path), bytes: file.contents }));
  assets.push({ name: 'favicon.svg', bytes: readFileSync(path.join(source, 'favicon.svg')) });
  rmSync(target, { recursive: true, force: true });
  mkdirSync(path.join(target, 'assets'), { recursive: true });
  let page = readFileSync(path.join(source, 'index.html'), 'utf8');
  for (const { name, bytes } of assets) {
    const { name: stem, ext } = path.parse(name);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, HASH_CHARACTERS);
    const hashed = `${stem}-${hash}${ext}`;
    writeFileSync(path.join(target, 'assets', hashed), bytes);
    if (!page.includes(`/assets/${name}"`)) throw new Error(`index.html does not name /assets/${name}`);
    page = page.replace(`/assets/${name}"`, `/assets/${hashed}"`);
  }
  writeFileSync(path.join(target, 'index.html'), page);
  const packages = packagesOf(process.cwd(), Object.keys(metafile.inputs));
  writeFileSync(path.join(target, 'LICENSES.txt'), licencesOf(packages));
  return packages;
}
