/**
 * Computes the broadhash: a digest of the ids of a chain's last five blocks. In generation 2, each node compares its
 * broadhash with the broadhashes of its peers.
 */

import { sha256Hex } from '../crypto/hash.ts';
import { utf8 } from '../primitives/bytes.ts';
import type { ChainParams } from './params.ts';
import type { BlockId } from './types.ts';

/**
 * Number of blocks whose ids are part of the broadhash (the hash with which nodes of generation 2 compare their
 * chains).
 */
export const BROADHASH_BLOCKS = 5;

/**
 * Computes the broadhash of a chain, as hexadecimal text: the SHA-256 hash of the decimal ids of the highest five
 * blocks. The ids begin with the id of the highest block, and are joined without separators. If the chain has only the
 * genesis block, the broadhash is the nethash.
 *
 * @param latestIds ids of the highest five blocks, or of all blocks if the chain is shorter. The id of the highest
 *   block comes first. The function ignores further ids
 */
export function broadhashOf(latestIds: readonly BlockId[], params: Pick<ChainParams, 'nethash'>): string {
  if (latestIds.length <= 1) return params.nethash;
  return sha256Hex(utf8(latestIds.slice(0, BROADHASH_BLOCKS).join('')));
}
