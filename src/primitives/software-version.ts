/**
 * Version of this software. This version differs from `version`, which clients of Lisk use as the version of the
 * protocol.
 */

/**
 * @param build build as nodes report it: `v` and the version, then the time of the build if it is known
 * @returns undefined for a text that no node of this software reports
 */
export function softwareVersionOf(build: string | undefined): string | undefined {
  return /^v(\d\S*)/.exec(build ?? '')?.[1];
}
