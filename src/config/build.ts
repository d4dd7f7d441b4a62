/** Reads the time and the commit of the build from `build.json`, which `bin/build.js` writes into `dist/src`. */

import { readFileSync } from 'node:fs';
import { packageVersion } from './package.ts';

/** Identifies the build of the program. The node reports both members to clients. */
export interface BuildIdentity {
  /**
   * The letter `v` and the version of the program. If the date and time of the build are known, the text also contains
   * this time, in UTC.
   */
  readonly build: string;
  /** Git commit that was built, 40 hexadecimal digits; empty when unknown. */
  readonly commit: string;
}

const RECORD_FILE = new URL('../build.json', import.meta.url);
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const COMMIT = /^[0-9a-f]{40}$/;

/**
 * @param file path of `build.json`. It is possible that the file is missing or is not JSON, for example while a build
 *   replaces the file. In this case, the member `build` of the result contains no time, and the member `commit` is
 *   empty. A malformed time or commit in the file counts as missing
 */
export function buildIdentity(file: URL | string = RECORD_FILE): BuildIdentity {
  const { time, commit } = recordOf(file);
  const version = `v${packageVersion()}`;
  return {
    build: typeof time === 'string' && TIME.test(time) ? `${version} ${time}` : version,
    commit: typeof commit === 'string' && COMMIT.test(commit) ? commit : '',
  };
}

function recordOf(file: URL | string): { readonly time?: unknown; readonly commit?: unknown } {
  try {
    const record: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof record === 'object' && record !== null ? record : {};
  } catch {
    return {};
  }
}
