/** Finds the folder of this package and reads its `package.json`. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert } from '../primitives/errors.ts';

/**
 * Finds the folder that holds the package's `package.json`. The search goes upward from this compiled file, so it does
 * not depend on the depth of the file in the package.
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

/** Version of this program. The node reports a different version to peers: the `appVersion` of the network. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
