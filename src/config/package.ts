/** Finds the folder of this package and reads its `package.json`. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../primitives/errors.ts';

/**
 * Folder that holds the package's `package.json`. The package folder does not depend on the folder in which this
 * compiled file is.
 */
export function packageDirectory(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    assert(parent !== folder, 'the program lies inside its package');
    folder = parent;
  }
  return folder;
}

/** Version of this program. Peers get another version, which belongs to the network. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
