/** Copies the project docs/examples/sample-project, and reads the results of its tests. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from '../../src/config/package.ts';

/** Test runners. For each runner, the sample project has a script `test:<runner>`. */
export const RUNNERS = ['node', 'ava', 'vitest', 'jest'] as const;
export type Runner = (typeof RUNNERS)[number];

/** Number of tests of the project in each runner. */
export const TESTS = 5;

const SAMPLE = join(packageDirectory(), 'docs/examples/sample-project');

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * Copies the project without the development dependencies in its `package.json`. The caller installs the runners one
 * by one.
 *
 * @returns version range of each runner that is a package
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
    /^# pass (\d+)$/m.exec(plain) ?? // node --test
    /^\s*(\d+) tests? passed$/m.exec(plain) ?? // ava
    /^\s*Tests:?\s+(\d+) passed/m.exec(plain); // vitest, jest
  return Number(count?.[1] ?? -1);
}
