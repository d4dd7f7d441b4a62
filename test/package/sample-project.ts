/**
 * Copies the sample project (`docs/examples/sample-project`) into another folder, and reads the results of its tests.
 */

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

/**
 * Names of the test runners that can run the tests of the sample project. Its `package.json` has a script
 * `test:<runner>` for each of them.
 */
export const RUNNERS = ['node', 'ava', 'vitest', 'jest'] as const;
export type Runner = (typeof RUNNERS)[number];

/** Number of tests of the sample project. The number is the same for each runner. */
export const TESTS = 5;

const SAMPLE = join(packageDirectory(), 'docs/examples/sample-project');

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * Copies the sample project into `folder`, and removes the development dependencies from the `package.json` of the
 * copy. These dependencies contain test runners, which the caller installs one by one.
 *
 * @returns the removed development dependencies: for each package, its version range. The runner `node` is not a
 *   package.
 */
export function copySampleProject(folder: string): Readonly<Record<string, string>> {
  cpSync(SAMPLE, folder, { recursive: true });
  const { devDependencies = {}, ...rest } = readSampleManifest();
  writeFileSync(join(folder, 'package.json'), JSON.stringify(rest));
  return devDependencies;
}

export function readSampleManifest(): Manifest {
  return JSON.parse(readFileSync(join(SAMPLE, 'package.json'), 'utf8')) as Manifest;
}

/** Returns the number of passed tests that a runner printed, or -1 if `output` contains no such number. */
export function passedTests(output: string): number {
  // Some runners print colours although their output is not a terminal.

  const plain = output.replace(/\u001b\[[0-9;]*m/g, '');
  const count =
    /^(?:#|ℹ) pass (\d+)$/m.exec(plain) ?? // node --test, by version
    /^\s*(\d+) tests? passed$/m.exec(plain) ?? // ava
    /^\s*Tests:?\s+(\d+) passed/m.exec(plain); // vitest, jest
  return Number(count?.[1] ?? -1);
}
