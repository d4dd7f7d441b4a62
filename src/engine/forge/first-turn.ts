/**
 * Finds out whether the next slot of a delegate is its first one, on each branch that the network may have. No node has
 * signed for such a delegate yet. If its wait began again with each restart, a network with many new delegates could
 * stand for ever: without their blocks, no block becomes final.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { Rules } from '../../protocol/rules.ts';
import { firstHeightOf, lastHeightOf, listIndexOf, roundOf } from '../../protocol/rounds.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';

const FIRST_FORGED_HEIGHT = 2;

/**
 * True if the delegate was in no completed round, and has had no slot of the present round before `slot`. On another
 * branch, the round can have begun earlier: by as many slots as this chain has missed between its final block and the
 * begin of the round. While no forged block is final, other branches can have any length, so the result is false. It is
 * also false while the list of the round is not final: on another branch, the round can have another order.
 *
 * @param state state of the chain that ends with `tip`, which must be the newest block of the network
 * @param slot present slot, or a later slot
 */
export function isFirstTurn(
  state: StateReader,
  tip: BlockHeader,
  rules: Pick<Rules, 'finalizedHeight' | 'forgers' | 'params'>,
  { publicKey, slot }: { readonly publicKey: PublicKey; readonly slot: number },
): boolean {
  const { params } = rules;
  const { activeDelegates } = params;
  const account = state.account(addressOf(publicKey));
  if (account === undefined || account.producedBlocks + account.missedBlocks > 0) return false;
  const round = roundOf(tip.height + 1, params);
  const finalizedHeight = rules.finalizedHeight(state);
  const before = state.header(firstHeightOf(round, params) - 1);
  const final = state.header(Math.min(finalizedHeight, before?.height ?? 0));
  if (finalizedHeight < FIRST_FORGED_HEIGHT || before === undefined || final === undefined) return false;
  if (finalizedHeight < lastHeightOf(listIndexOf(round, params.delegateListRoundOffset) - 1, params)) return false;
  const missed = slotAt(before.timestamp, params) - slotAt(final.timestamp, params) - (before.height - final.height);
  const turn = rules.forgers(state, tip.height + 1).indexOf(publicKey);
  if (turn === -1) return true;
  // The newest slot of the delegate before `slot`.
  const last = slot - 1 - ((slot - 1 - turn + activeDelegates) % activeDelegates);
  return last <= slotAt(before.timestamp, params) - missed;
}
