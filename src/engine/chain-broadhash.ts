/** Computes the broadhash of a stored chain: a hash over the ids of the highest five blocks of the chain. */

import { BROADHASH_BLOCKS, broadhashOf } from '../protocol/broadhash.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { ChainReader } from '../ports/store.ts';

/**
 * Returns the broadhash (`broadhashOf`) that the chain has if its highest block is the block at `height`, in
 * hexadecimal.
 *
 * @param height height of the highest block; by default, the height of the tip
 */
export function chainBroadhash(
  store: Pick<ChainReader, 'tip' | 'header'>,
  params: Pick<ChainParams, 'nethash'>,
  height = store.tip()?.height ?? 0,
): string {
  const ids: string[] = [];
  for (let at = height; at > Math.max(0, height - BROADHASH_BLOCKS); at -= 1) {
    const header = store.header(at);
    if (header !== undefined) ids.push(header.id);
  }
  return broadhashOf(ids, params);
}
