/**
 * Computes the earliest slot that a new delegate can have on any branch above the final block. If this node enabled the
 * delegate at least `UNSURE_SLOTS` slots (`needless-waits.ts`) before this earliest slot, no other node has signed for
 * the delegate on such a branch. The delegate then need not wait until a block is final that is newer than the time at
 * which the delegate was enabled. This matters if a third of all delegates are new: without their blocks, no block
 * becomes final.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { ChainParams } from '../../protocol/params.ts';
import { firstHeightOf, forgingOrder, lastHeightOf, listIndexOf, roundOf } from '../../protocol/rounds.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { Account, StateReader } from '../../protocol/state.ts';
import type { Address, BlockHeader, PublicKey } from '../../protocol/types.ts';

const FIRST_FORGED_HEIGHT = 2;

/** The part of a chain that decides about the slots of a delegate. */
export interface ChainOfSlots extends Pick<StateReader, 'roundList'> {
  account(address: Address): Pick<Account, 'producedBlocks' | 'missedBlocks'> | undefined;
  header(height: number): Pick<BlockHeader, 'timestamp'> | undefined;
}

export interface ChainHeights {
  readonly finalizedHeight: number;
  readonly tipHeight: number;
}

/**
 * Returns the earliest slot that the delegate can have above the final block of this chain, on this branch or on
 * another branch. A branch has at most one block in each slot, so each round has an earliest first slot. The list of
 * the delegates of a round depends only on blocks of earlier rounds. If all blocks on which the list depends are final,
 * the list is the same on all branches. If one of them is not final, the function assumes that the delegate can have
 * any slot of the round.
 *
 * @param state state of the chain whose tip has the height `tipHeight`
 * @returns undefined if it is possible that the delegate has had a slot up to the final block, or if no forged block is
 *   final
 */
export function earliestSlotOf(
  state: ChainOfSlots,
  { finalizedHeight, tipHeight }: ChainHeights,
  params: Pick<ChainParams, 'activeDelegates' | 'delegateListRoundOffset' | 'blockTimeS'>,
  publicKey: PublicKey,
): number | undefined {
  const { activeDelegates, delegateListRoundOffset: offset } = params;
  // If this chain does not have the account of the delegate, the delegate has had no slot up to the final block.
  const { producedBlocks, missedBlocks } = state.account(addressOf(publicKey)) ?? {
    producedBlocks: 0,
    missedBlocks: 0,
  };
  const final = state.header(finalizedHeight);
  if (producedBlocks > 0 || final === undefined || finalizedHeight < FIRST_FORGED_HEIGHT) return undefined;
  const orderOf = (round: number): readonly PublicKey[] | undefined =>
    forgingOrder(state, firstHeightOf(round, params), offset, params);

  const firstRound = roundOf(finalizedHeight + 1, params);
  // The delegate must have missed no slot before the final block. `missedBlocks` counts all slots that the delegate has
  // missed on this chain. `missed` counts only its missed slots in the ended rounds from `firstRound` on. If the two
  // numbers differ, the delegate has missed a slot in an earlier round, and so before the final block.
  let missed = 0;
  for (let round = firstRound; round < roundOf(tipHeight + 1, params); round += 1)
    if (orderOf(round)?.includes(publicKey) === true) missed += 1;
  if (missedBlocks !== missed) return undefined;

  for (let round = firstRound; ; round += 1) {
    const isListFinal = lastHeightOf(listIndexOf(round, offset) - 1, params) <= finalizedHeight;
    const order = isListFinal ? orderOf(round) : undefined;
    if (order?.includes(publicKey) === false) continue;
    // If the round began at or before the final block, the slot of the delegate in this round can be before the final
    // block.
    if (firstHeightOf(round, params) <= finalizedHeight) return undefined;
    const first = slotAt(final.timestamp, params) + firstHeightOf(round, params) - finalizedHeight;
    return order === undefined ? first : firstFrom(first, order.indexOf(publicKey), activeDelegates);
  }
}

/** Returns the first slot, from `slot` on, whose remainder after a division by `activeDelegates` is `turn`. */
function firstFrom(slot: number, turn: number, activeDelegates: number): number {
  return slot + ((turn - (slot % activeDelegates) + activeDelegates) % activeDelegates);
}
