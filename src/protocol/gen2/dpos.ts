/** What a block does to the delegates of generation 2: weights move at the end of a round only, and ranks with them. */

import { addressOf } from '../../crypto/keys.ts';
import { assert } from '../../primitives/errors.ts';
import type { ChainParams } from '../params.ts';
import { countMissedBlocks, countProducedBlock, earningsOfRound, headersOfRound, payEarnings } from '../payout.ts';
import { byWeight, delegatesByWeight, isLastOfRound, roundOf, shuffled } from '../rounds.ts';
import { forgingOrder as frozenOrder } from '../rounds.ts';
import type { StateReader, StateWriter } from '../state.ts';
import { addVoteWeight } from '../tx/vote-weight.ts';
import type { BlockHeader, PublicKey } from '../types.ts';

/** A round forges with the list frozen at its start; nothing asks for older ones. */
const LISTS_KEPT = 2;

/**
 * Counts the block for its generator and ends its round where it is the last. The genesis block ends a round of its own in
 * which nobody earned or missed anything: that makes its votes visible.
 */
export function applyDpos(state: StateWriter, block: BlockHeader, params: ChainParams): void {
  countProducedBlock(state, addressOf(block.generatorPublicKey));
  if (block.height === 1) {
    bookPendingWeights(state);
    freeze(state, 1, params);
    // A round of one block is over with it.
    if (isLastOfRound(block.height, params)) freeze(state, 2, params);
    return;
  }
  if (!isLastOfRound(block.height, params)) return;

  const round = roundOf(block.height, params);
  // A list that is computed anew has to see the weights that the round was forged with.
  const list = listOf(state, round, params);
  assert(list !== undefined, `the list of round ${round} is known at its end`);
  bookPendingWeights(state);
  const headers = headersOfRound(state, block, params);
  countMissedBlocks(state, list, headers, addressOf);
  payEarnings(state, earningsOfRound(headers, round, params), addressOf, (to, delegate, beddows) => {
    addVoteWeight(to, delegate, beddows, 'pending');
  });
  bookPendingWeights(state);
  freeze(state, round + 1, params);
}

/** The forging order of a height, undefined when its list is not known. */
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

/** In a few rounds of a live network delegates that registered meanwhile came into the list of the running round. */
export function isRecomputed(round: number, params: ChainParams): boolean {
  return params.exceptions.ignoreDelegateListCacheForRounds.has(round);
}

/**
 * Adds what gathered to the visible weights. The reference takes each sum through a double, which rounds sums above 2^53
 * beddows to the nearest one that it can hold, and hands its database the shortest decimal text that stands for that
 * double: above 2^54 beddows the text is another whole number than the double (18014398509481990 for 2^54 + 8).
 */
function bookPendingWeights(state: StateWriter): void {
  for (const delegate of [...state.delegates()]) {
    if (delegate.pendingVoteWeight === 0n) continue;
    const booked = throughDouble(delegate.pendingVoteWeight);
    state.setDelegate({ ...delegate, voteWeight: delegate.voteWeight + booked, pendingVoteWeight: 0n });
  }
}

/** Beyond 10^21 such a text has an exponent, and no column of the reference holds the number. */
function throughDouble(beddows: bigint): bigint {
  const text = String(Number(beddows));
  return BigInt(/^-?[0-9]+$/.test(text) ? text : Number(beddows));
}

/** Ranks all delegates and freezes the list of a round. */
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
