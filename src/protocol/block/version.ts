/**
 * Determines the version that the block at a height must have. On live networks, blocks at low heights have older
 * versions.
 */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/**
 * Block version of a height: the lowest of `own` (the version of the generation) and the versions that the exceptions
 * of the network (`exceptions.blockVersions`) contain for the height.
 */
export function versionAt(height: number, own: number, params: Versions): number {
  const excepted = [...params.exceptions.blockVersions]
    .filter(([, range]) => range.start <= height && height <= range.end)
    .map(([version]) => version);
  return Math.min(...excepted, own);
}

/** True if the version is `own` (the version of the generation), or if the exceptions of the network contain it. */
export function isVersionKnown(version: number, own: number, params: Versions): boolean {
  return version === own || params.exceptions.blockVersions.has(version);
}
