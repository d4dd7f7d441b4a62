/** Temporary folders for tests, and copies of packaged devnets. A test is allowed to change the files of its copy. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { packagedNetworkDirectory } from '../../src/config/network.ts';
import type { Untyped } from './untyped.ts';

/** Makes a temporary folder that is removed at the end of the test. */
export function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies the folder of a devnet. */
export function devnetCopy(t: ExecutionContext, name = 'devnet'): string {
  const folder = join(temporaryFolder(t), 'network');
  cpSync(packagedNetworkDirectory(name), folder, { recursive: true });
  return folder;
}

/** Changes one JSON file of a folder. */
export function editJson(folder: string, file: string, edit: (json: Untyped) => unknown): void {
  const path = join(folder, file);
  const json = JSON.parse(readFileSync(path, 'utf8'));
  const edited = edit(json) ?? json;
  writeFileSync(path, JSON.stringify(edited));
}
