/**
 * Updates the delegates of generation 2 for a block. Vote weights and ranks change only with the genesis block and with
 * the last block of each round.
 */

import { addressOf } from '../../crypto/keys.ts';
import { assert } from '../../primitives/errors.ts';
import type { ChainParams } from '../params.ts';
import { countMissedBlocks, countProducedBlock, earningsOfRound, headersOfRound, payEarnings } from '../payout.ts';
import { byWeight, delegatesByWeight, isLastOfRound, roundOf, shuffled } from '../rounds.ts';
import { forgingOrder as frozenOrder } from '../rounds.ts';
import type { StateReader, StateWriter } from '../state.ts';
import { addVoteWeight } from '../tx/vote-weight.ts';
import type { BlockHeader, PublicKey } from '../types.ts';

/**
 * Number of delegate lists that stay in the state. At the last block of a round, the node stores the list of the next
 * round. After this block, the state has the list of the round that ends with this block, and the list of the next
 * round. No code needs older lists.
 */
const LISTS_KEPT = 2;

/**
 * Adds 1 to the generator's count of forged blocks. If the block is the last block of its round, the function also
 * counts missed blocks, pays earnings, updates the vote weights and stores the list of the next round. For the genesis
 * block, the function pays no earnings and counts no missed blocks. However, the function updates the vote weights and
 * stores the list of round 1. The votes of the genesis block therefore take effect immediately.
 */
export function applyDpos(state: StateWriter, block: BlockHeader, params: ChainParams): void {
  countProducedBlock(state, addressOf(block.generatorPublicKey));
  if (block.height === 1) {
    addPendingWeights(state);
    freeze(state, 1, params);
    // If a round has only one block, the genesis block also ends the first round.
    if (isLastOfRound(block.height, params)) freeze(state, 2, params);
    return;
  }
  if (!isLastOfRound(block.height, params)) return;

  const round = roundOf(block.height, params);
  // In some rounds, the delegate list is computed again for each block (`isRecomputed`). At the end of such a round,
  // the function must still compute the list from the vote weights that were valid during the round. The call of
  // `listOf` therefore comes before the change of the vote weights.
  const list = listOf(state, round, params);
  assert(list !== undefined, `the list of round ${round} is known at its end`);
  addPendingWeights(state);
  const headers = headersOfRound(state, block, params);
  countMissedBlocks(state, list, headers, addressOf);
  payEarnings(state, earningsOfRound(headers, round, params), addressOf, (to, delegate, beddows) => {
    addVoteWeight(to, delegate, beddows, 'pending');
  });
  addPendingWeights(state);
  freeze(state, round + 1, params);
}

/** The order of forgers at a height; undefined if the delegate list of the round of this height is unknown. */
export function forgingOrder(
  state: StateReader,
  height: number,
  params: ChainParams,
): readonly PublicKey[] | undefined {
  const round = roundOf(height, params);
  if (!isRecomputed(round, params)) return frozenOrder(state, height, 0, params);
  return shuffled(delegatesByWeight(state, params), round);
}

function listOf(state: StateReader, round: number, params: ChainParams): readonly PublicKey[] | undefined {
  return isRecomputed(round, params) ? delegatesByWeight(state, params) : state.roundList(round);
}

/**
 * True if the node computes the delegate list of a round again for each block of the round. In some rounds of live
 * networks, a delegate entered the list immediately after the delegate's registration. The exceptions of the network
 * contain the numbers of these rounds.
 */
export function isRecomputed(round: number, params: ChainParams): boolean {
  return params.exceptions.ignoreDelegateListCacheForRounds.has(round);
}

/**
 * Adds the pending weight of each delegate (`pendingVoteWeight`) to the vote weight of the same delegate. The reference
 * (lisk-sdk) converts each pending weight to a double. The conversion rounds weights above 2^53 beddows. The reference
 * then writes the shortest decimal text of the double to its database. Above 2^54 beddows, the integer in the decimal
 * text can differ from the double. For example, the text of 2^54 + 8 is 18014398509481990.
 */
function addPendingWeights(state: StateWriter): void {
  for (const delegate of [...state.delegates()]) {
    if (delegate.pendingVoteWeight === 0n) continue;
    const added = throughDouble(delegate.pendingVoteWeight);
    state.setDelegate({ ...delegate, voteWeight: delegate.voteWeight + added, pendingVoteWeight: 0n });
  }
}

/**
 * Converts an amount to the decimal text of its double and back, as lisk-sdk does. From 10^21 on, the text has an
 * exponent, so the function converts the double itself. No chain contains such an amount, because the database of
 * lisk-sdk cannot store it.
 */
function throughDouble(beddows: bigint): bigint {
  const text = String(Number(beddows));
  return BigInt(/^-?[0-9]+$/.test(text) ? text : Number(beddows));
}

/**
 * Ranks all delegates by vote weight, and stores the first `activeDelegates` of them as the delegate list of a round.
 */
function freeze(state: StateWriter, round: number, { activeDelegates }: ChainParams): void {
  const ranked = [...state.delegates()].sort(byWeight);
  ranked.forEach((delegate, index) => {
    const rank = index + 1;
    if (delegate.rank !== rank) state.setDelegate({ ...delegate, rank });
  });
  state.setRoundList(
    round,
    ranked.slice(0, activeDelegates).map((delegate) => delegate.publicKey),
  );
  if (round > LISTS_KEPT) state.setRoundList(round - LISTS_KEPT, undefined);
}
