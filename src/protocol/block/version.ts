/**
 * Determines the block version that a height must have. The blocks at old heights of live networks have older versions.
 */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/**
 * Block version of a height. If the exceptions contain several versions for the height, the result is the lowest of
 * these versions. If the exceptions contain no version for the height, the result is `own`, the version of the
 * generation.
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
