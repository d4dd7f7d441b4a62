/**
 * The packages whose files are in a bundle: their licences, which are shipped with it, and their names for the bill of
 * materials.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @param {string} root folder that the inputs are relative to
 * @param {string[]} inputs files that a bundle was made of
 * @returns {{ name: string, version: string, licence: string, text: string }[]} by name
 */
export function packagesOf(root, inputs) {
  const folders = new Set(inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const packages = [...folders].sort().map((folder) => packageIn(path.join(root, folder)));
  // A package in several folders counts once.
  return [...new Map(packages.map((each) => [`${each.name}@${each.version}`, each])).values()];
}

/** The package of a folder. */
export function packageIn(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each));
  const text = file === undefined ? '' : readFileSync(path.join(folder, file), 'utf8').trim();
  return { name, version, licence: license ?? 'see its licence', text };
}

/**
 * Joins the licence texts of packages into the content of one file (`LICENSES.txt`). The file is shipped with the
 * bundle of these packages, because many licences require that their text is shipped with the code.
 */
export function licencesOf(packages) {
  return packages
    .map(({ name, version, licence, text }) => `${name} ${version}: ${licence}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}
