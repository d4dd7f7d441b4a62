/** The version of this software, beside the version of the protocol that clients of the family know as `version`. */

/**
 * @param build as nodes tell it: `v` and the version, then the time of the build where known
 * @returns undefined for what no node of this software tells
 */
export function softwareVersionOf(build: string | undefined): string | undefined {
  return /^v(\d\S*)/.exec(build ?? '')?.[1];
}
