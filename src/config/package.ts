/** Finds the folder of this package and reads its `package.json`. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../primitives/errors.ts';

/**
 * Finds the folder that contains the `package.json` of this package. The search goes upward from the running file,
 * because a bundled file has another depth in the package than a compiled file.
 */
export function packageDirectory(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    assert(parent !== folder, 'the program is inside its package');
    folder = parent;
  }
  return folder;
}

/**
 * Version of this program. The node does not send this version to peers. Peers get the `appVersion` of the network.
 */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
