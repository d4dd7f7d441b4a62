/** Which block version belongs to a height: live networks have histories of older ones. */

import type { ChainParams } from '../params.ts';

type Versions = Pick<ChainParams, 'exceptions'>;

/** Version of a height: the lowest excepted one whose range holds it, else the generation's own. */
export function versionAt(height: number, own: number, params: Versions): number {
  const excepted = [...params.exceptions.blockVersions]
    .filter(([, range]) => range.start <= height && height <= range.end)
    .map(([version]) => version);
  return Math.min(...excepted, own);
}

/** True when blocks of this version occur anywhere in the network's history. */
export function isVersionKnown(version: number, own: number, params: Versions): boolean {
  return version === own || params.exceptions.blockVersions.has(version);
}
