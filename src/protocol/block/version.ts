/**
 * Determines the block version that a height must have. The blocks at old heights of live networks have older versions.
 */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/**
 * Block version of a height. The version is the lowest one in the exceptions whose range includes the height, otherwise
 * the version of the generation.
 */
export function versionAt(height: number, own: number, params: Versions): number {
  const excepted = [...params.exceptions.blockVersions]
    .filter(([, range]) => range.start <= height && height <= range.end)
    .map(([version]) => version);
  return Math.min(...excepted, own);
}

/** True if blocks of this version occur anywhere in the history of the network. */
export function isVersionKnown(version: number, own: number, params: Versions): boolean {
  return version === own || params.exceptions.blockVersions.has(version);
}
