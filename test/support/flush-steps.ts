/** Records the order in which synchronous functions of `node:fs` flush and rename files. */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { relative } from 'node:path';
import type { ExecutionContext } from 'ava';

/**
 * Replaces functions of `node:fs` until the end of the test. Tests that call this function must run one after another.
 *
 * @returns the steps so far, for example `flush a/b` and `rename a/c` (the new name); paths are relative to `folder`
 */
export function recordFlushSteps(t: ExecutionContext, folder: string): readonly string[] {
  const steps: string[] = [];
  const pathOf = new Map<number, string>();
  const named = (path: fs.PathLike): string => relative(folder, String(path)) || '.';
  const { openSync, fsyncSync, renameSync } = fs;
  t.teardown(() => {
    Object.assign(fs, { openSync, fsyncSync, renameSync });
    syncBuiltinESMExports();
  });
  Object.assign(fs, {
    openSync: (path: fs.PathLike, flags: fs.OpenMode, mode?: fs.Mode) => {
      const descriptor = openSync(path, flags, mode);
      pathOf.set(descriptor, named(path));
      return descriptor;
    },
    fsyncSync: (descriptor: number) => {
      fsyncSync(descriptor);
      steps.push(`flush ${pathOf.get(descriptor)}`);
    },
    renameSync: (from: fs.PathLike, to: fs.PathLike) => {
      renameSync(from, to);
      steps.push(`rename ${named(to)}`);
    },
  });
  syncBuiltinESMExports();
  return steps;
}
