/**
 * Finds the height since which a delegate has been active without interruption. From this height on, the delegate is in
 * the list of each round: the stored delegate list from which the forgers of the round come (see `../rounds.ts`). The
 * finality protocol counts no prevote and no precommit of the delegate for a block below this height.
 */

import { firstHeightOf, listIndexOf, type RoundLength } from '../rounds.ts';
import type { StateReader } from '../state.ts';
import type { PublicKey } from '../types.ts';

/**
 * Maximum number of older delegate lists that `minHeightActive` searches in addition to the active list. The active
 * list is the list from which the forgers of the newest examined round come. All other older lists have no effect,
 * because a header votes only for heights in its own round and in the three rounds before this round.
 */
const LISTS_LOOKED_BACK = 3;

/**
 * Returns the first height of the consecutive rounds in which the delegate is active. The last of these rounds is round
 * `newestList`. The active list is the delegate list from which the forgers of round `newestList` come. The function
 * examines only round `newestList` and the three rounds before this round.
 *
 * @param newestList number of the newest round that the function examines. During this round, the newest stored
 *   delegate list has the same number as the round
 * @param offset difference between the number of a round and the number of the list that this round uses (see
 *   `listIndexOf`)
 * @returns undefined if the delegate is not in the active list
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

// Caches the delegates of each list as a set, because the node searches the same list for every block of a round. The
// key of the cache is the list object. If a state reader returns the same list object again, the set is not built
// again.
const members = new WeakMap<readonly PublicKey[], ReadonlySet<PublicKey>>();

function isListed(state: StateReader, index: number, publicKey: PublicKey): boolean {
  const list = state.roundList(index);
  if (list === undefined) return false;
  let known = members.get(list);
  if (known === undefined) members.set(list, (known = new Set(list)));
  return known.has(publicKey);
}
