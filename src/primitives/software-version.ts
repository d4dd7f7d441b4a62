/**
 * Reads the version of this software. The member `version` of `/node/constants` is another version: the version of
 * lisk-sdk with which the node is compatible.
 */

/**
 * @param build build as nodes report it: `v` and the version, then the time of the build if it is known
 * @returns the version of the software; undefined for an absent build, and for a text of another form
 */
export function softwareVersionOf(build: string | undefined): string | undefined {
  return /^v(\d\S*)/.exec(build ?? '')?.[1];
}
