/** Determines the block version of a height. The history of live networks has older versions. */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/**
 * Block version of a height: the lowest excepted version whose range includes the height, otherwise the version of the
 * generation.
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
