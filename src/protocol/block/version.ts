/**
 * Determines the version that the block at a height must have. On live networks, blocks at low heights have older
 * versions.
 */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/**
 * Returns the block version for a height. The network can define other versions for the height in
 * `exceptions.blockVersions`. The result is the lowest of these versions and `own` (the version of the generation).
 */
export function versionAt(height: number, own: number, params: Versions): number {
  const excepted = [...params.exceptions.blockVersions]
    .filter(([, range]) => range.start <= height && height <= range.end)
    .map(([version]) => version);
  return Math.min(...excepted, own);
}

/**
 * True if the version is `own` (the version of the generation), or if `exceptions.blockVersions` of the network
 * contains the version.
 */
export function isVersionKnown(version: number, own: number, params: Versions): boolean {
  return version === own || params.exceptions.blockVersions.has(version);
}
