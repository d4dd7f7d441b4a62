/**
 * Updates the delegates of generation 3 for a block. For each block, the code adds 1 to the generator's count of forged
 * blocks. The last block of a round also ends the round: the code counts the missed blocks, pays the earnings of the
 * round, and freezes the next delegate list. To freeze a list means to store the list in the state, so that later votes
 * do not change the list.
 */

import { addressOf } from '../../crypto/keys.ts';
import { assert } from '../../primitives/errors.ts';
import type { ChainParams } from '../params.ts';
import { countMissedBlocks, countProducedBlock, earningsOfRound, headersOfRound, payEarnings } from '../payout.ts';
import { delegatesByWeight, isLastOfRound, listIndexOf, roundOf, type RoundLength } from '../rounds.ts';
import type { StateWriter } from '../state.ts';
import { addVoteWeight, isStorableWeight } from '../tx/vote-weight.ts';
import type { BlockHeader } from '../types.ts';
import { BlockRejected } from '../verdict.ts';

/**
 * Minimum of `listsKept`, the number of frozen lists that stay in the state. A frozen list is a delegate list that the
 * node has stored for a round, so that later votes do not change the list.
 */
const LISTS_KEPT_MIN = 8;

/**
 * Adds 1 to the generator's count of forged blocks. For the genesis block, the function freezes delegate list 1 (stores
 * the list, so that later votes do not change it). For the last block of a round, the function counts the missed
 * blocks, pays the earnings, and then freezes the next list. This order matters, because the earnings can change vote
 * weights, and therefore the next list.
 *
 * @param offset number of rounds between freezing a list and forging with the list
 * @throws BlockRejected `BLOCK_UNSTORABLE` if a vote weight is too large for the database of lisk-sdk
 */
export function applyDpos(state: StateWriter, block: BlockHeader, params: ChainParams, offset: number): void {
  countProducedBlock(state, addressOf(block.generatorPublicKey));
  if (block.height === 1) state.setRoundList(1, delegatesByWeight(state, params));
  if (!isLastOfRound(block.height, params)) return;

  const round = roundOf(block.height, params);
  const list = state.roundList(listIndexOf(round, offset));
  assert(list !== undefined, `the list of round ${round} is known at its end`);
  const headers = headersOfRound(state, block, params);
  countMissedBlocks(state, list, headers, addressOf);
  payEarnings(state, earningsOfRound(headers, round, params), addressOf, (to, delegate, beddows) => {
    if (isStorableWeight(addVoteWeight(to, delegate, beddows, 'live'))) return;
    throw new BlockRejected('BLOCK_UNSTORABLE', 'bigint out of range', { height: block.height, delegate });
  });
  state.setRoundList(round + 1, delegatesByWeight(state, params));
  const obsolete = round + 1 - listsKept(params.delegateListRoundOffset);
  if (obsolete >= 1) state.setRoundList(obsolete, undefined);
}

/**
 * Number of frozen lists that stay in the state. A frozen list is a delegate list that the node has stored for a round,
 * so that later votes do not change the list. The oldest list that the finality protocol can read is `offset + 4` lists
 * before the newest list (see `minHeightActive`). With this list, the state has `offset + 5` lists. No vote depends on
 * this oldest list, so `offset + 4` lists are enough. If the offset is 4, the state keeps only 8 lists
 * (`LISTS_KEPT_MIN`). If the offset is greater, the state also keeps the oldest list.
 *
 * @param offset greatest number of rounds between freezing a list and forging with the list on this network
 */
function listsKept(offset: number): number {
  return offset <= 4 ? LISTS_KEPT_MIN : offset + 5;
}

/**
 * Index of the newest frozen list after the node has applied the block at this height. A frozen list is a delegate list
 * that the node has stored for a round, so that later votes do not change the list.
 */
export function newestListAfter(height: number, params: RoundLength): number {
  return roundOf(height, params) + (isLastOfRound(height, params) ? 1 : 0);
}
