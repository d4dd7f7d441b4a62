/**
 * Finds out whether the next slot of a delegate is its first one. No node can have signed for such a delegate before it
 * was first enabled on this node. If its wait began again with each restart, a network with many new delegates could
 * stand for ever: without their blocks, no block becomes final.
 */

import { addressOf } from '../../crypto/keys.ts';
import type { Rules } from '../../protocol/rules.ts';
import { firstHeightOf, roundOf } from '../../protocol/rounds.ts';
import { slotAt } from '../../protocol/slots.ts';
import type { StateReader } from '../../protocol/state.ts';
import type { BlockHeader, PublicKey } from '../../protocol/types.ts';

/** The genesis block has the time of the epoch, so the slots of the first round count from the first forged block on. */
const FIRST_FORGED_HEIGHT = 2;

/**
 * True if the delegate was in no completed round, and has had no slot of the present round before `slot`.
 *
 * @param state state of the chain that ends with `tip`, which must be the newest block of the network
 * @param slot present slot, or a later slot
 */
export function isFirstTurn(
  state: Pick<StateReader, 'account' | 'header'> & Parameters<Rules['forgers']>[0],
  tip: BlockHeader,
  rules: Pick<Rules, 'forgers' | 'params'>,
  { publicKey, slot }: { readonly publicKey: PublicKey; readonly slot: number },
): boolean {
  const { params } = rules;
  const account = state.account(addressOf(publicKey));
  if (account === undefined || account.producedBlocks + account.missedBlocks > 0) return false;
  const height = tip.height + 1;
  const before = state.header(Math.max(FIRST_FORGED_HEIGHT, firstHeightOf(roundOf(height, params), params) - 1));
  if (before === undefined) return false;
  const forgers = rules.forgers(state, height);
  const turn = forgers.indexOf(publicKey);
  if (turn === -1) return true;
  // The newest slot of the delegate before `slot`.
  const last = slot - 1 - ((((slot - 1 - turn) % forgers.length) + forgers.length) % forgers.length);
  return last <= slotAt(before.timestamp, params);
}
