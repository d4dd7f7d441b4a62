/** The broadhash of a stored chain. */

import { BROADHASH_BLOCKS, broadhashOf } from '../protocol/broadhash.ts';
import type { ChainParams } from '../protocol/params.ts';
import type { ChainReader } from '../ports/store.ts';

/**
 * Returns the hexadecimal broadhash that a chain has when its tip is at the given height.
 *
 * @param height height of the tip by default
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
