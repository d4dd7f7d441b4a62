/**
 * Computes the broadhash: a digest of the ids of the last five blocks of a chain. In generation 2, each node compares
 * its broadhash with the broadhashes of its peers.
 */

import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { ChainParams } from './params.ts';
import type { BlockId } from './types.ts';

/** Number of blocks whose ids are part of the broadhash. */
export const BROADHASH_BLOCKS = 5;

/**
 * Broadhash of a chain, hexadecimal: SHA-256 of the decimal ids of its highest five blocks, highest first, without
 * separators. If the chain has only the genesis block, the broadhash is the nethash.
 *
 * @param latestIds ids of the highest five blocks, or of all blocks of a shorter chain, highest first; further ids are
 *   ignored
 */
export function broadhashOf(latestIds: readonly BlockId[], params: Pick<ChainParams, 'nethash'>): string {
  if (latestIds.length <= 1) return params.nethash;
  return sha256Hex(utf8(latestIds.slice(0, BROADHASH_BLOCKS).join('')));
}
