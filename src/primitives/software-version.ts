/**
 * Reads the version of Bloomery from the member `build` of `/node/constants`. The member `version` of
 * `/node/constants` is not the version of Bloomery, but the version of the Lisk software that the node reports to peers
 * and clients (`appVersion` of the network).
 */

/**
 * @param build value of the member `build`: `v` with the version. The time of the build follows, if this time is known
 * @returns the version without the `v`; undefined if `build` is absent or has another form
 */
export function softwareVersionOf(build: string | undefined): string | undefined {
  return /^v(\d\S*)/.exec(build ?? '')?.[1];
}
