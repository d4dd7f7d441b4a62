/** Broadhash: a short name for the last blocks of a chain, which peers compare for equality. */

import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { ChainParams } from './params.ts';
import type { BlockId } from './types.ts';

/** Blocks whose ids enter the broadhash. */
export const BROADHASH_BLOCKS = 5;

/**
 * Broadhash of a chain, hexadecimal: SHA-256 of the decimal ids of its highest five blocks, highest first, written one
 * after the other; the nethash for a chain of the genesis block alone.
 *
 * @param latestIds ids of the highest blocks, highest first; all there are when the chain is shorter than five, more than
 *   five are ignored
 */
export function broadhashOf(latestIds: readonly BlockId[], params: Pick<ChainParams, 'nethash'>): string {
  if (latestIds.length <= 1) return params.nethash;
  return sha256Hex(utf8(latestIds.slice(0, BROADHASH_BLOCKS).join('')));
}
