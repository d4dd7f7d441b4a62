/** Since when a delegate is active without a break: the finality protocol counts its votes from there only. */

import { firstHeightOf, listIndexOf, type RoundLength } from '../rounds.ts';
import type { StateReader } from '../state.ts';
import type { PublicKey } from '../types.ts';

/** Lists before the active one that are searched for a break: votes reach back three rounds. */
const LISTS_LOOKED_BACK = 3;

/**
 * First height of the present run of rounds in which a delegate is active, never before the first height of the round three
 * before the newest list's.
 *
 * @param newestList index of the newest frozen list to look from
 * @param offset rounds that a frozen list waits before it is used
 * @returns undefined when the delegate is not in the list in force
 */
export function minHeightActive(
  state: StateReader,
  publicKey: PublicKey,
  newestList: number,
  offset: number,
  params: RoundLength,
): number | undefined {
  const active = listIndexOf(newestList, offset);
  if (!isListed(state, active, publicKey)) return undefined;
  let since = active;
  for (let index = active - 1; index >= Math.max(1, active - LISTS_LOOKED_BACK); index -= 1) {
    if (!isListed(state, index, publicKey)) break;
    since = index;
  }
  return firstHeightOf(since === 1 ? Math.max(newestList - LISTS_LOOKED_BACK, 1) : since + offset, params);
}

// A list stands for rounds and is asked for every block: keyed by the list object, which readers may keep.
const members = new WeakMap<readonly PublicKey[], ReadonlySet<PublicKey>>();

function isListed(state: StateReader, index: number, publicKey: PublicKey): boolean {
  const list = state.roundList(index);
  if (list === undefined) return false;
  let known = members.get(list);
  if (known === undefined) members.set(list, (known = new Set(list)));
  return known.has(publicKey);
}
