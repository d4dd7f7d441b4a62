/**
 * Counts forged and missed blocks of delegates, and pays earnings. For each block, the node adds 1 to the generator's
 * count of forged blocks. After each finished round, the node counts the missed blocks, and pays the fees and rewards
 * of the round to the forgers of the round.
 */

import { assert } from '../primitives/errors.ts';
import type { ChainParams } from './params.ts';
import { firstHeightOf, roundOf, type RoundLength } from './rounds.ts';
import { emptyAccount, type Account, type StateReader, type StateWriter } from './state.ts';
import type { Address, BlockHeader, PublicKey } from './types.ts';

/**
 * Adds beddows to the vote weight of a delegate (generation 3), or to the delegate's pending vote weight (generation
 * 2). At the end of the round, the node adds the pending vote weight to the vote weight.
 */
export type AddVoteWeight = (state: StateWriter, delegate: PublicKey, beddows: bigint) => void;

/** The earnings of a forger in one round, in beddows. */
export interface Earnings {
  readonly fees: bigint;
  readonly rewards: bigint;
}

/** Adds 1 to the generator's count of forged blocks, if the generator has an account. */
export function countProducedBlock(state: StateWriter, generator: Address): void {
  const account = state.account(generator);
  if (account !== undefined) state.setAccount({ ...account, producedBlocks: account.producedBlocks + 1 });
}

/**
 * Headers of the round that ends with `last`, in ascending order of height. The function works even if the state does
 * not contain the header `last` yet.
 */
export function headersOfRound(state: StateReader, last: BlockHeader, params: RoundLength): readonly BlockHeader[] {
  const headers: BlockHeader[] = [];
  for (let height = firstHeightOf(roundOf(last.height, params), params); height < last.height; height += 1) {
    const header = state.header(height);
    assert(header !== undefined, `the state knows the header of height ${height}`);
    headers.push(header);
  }
  headers.push(last);
  return headers;
}

/**
 * Computes the earnings of a finished round. For each block, the generator of the block earns an equal share of the
 * round's fees, and the reward of the block. The fees that remain after this division go to the generator of the last
 * block. An exception of the network can change the fees and rewards of a round (`Exceptions.rounds`).
 *
 * @param headers all blocks of the round, in ascending order of height
 * @returns earnings by generator, in the order of the generators' first blocks
 */
export function earningsOfRound(
  headers: readonly BlockHeader[],
  round: number,
  { activeDelegates, exceptions }: Pick<ChainParams, 'activeDelegates' | 'exceptions'>,
): ReadonlyMap<PublicKey, Earnings> {
  const exception = exceptions.rounds.get(round);
  const rewardsFactor = BigInt(exception?.rewardsFactor ?? 1);
  let fees = headers.reduce((sum, header) => sum + header.totalFee, 0n);
  if (exception !== undefined) fees = fees * BigInt(exception.feesFactor) + exception.feesBonus;
  const share = fees / BigInt(activeDelegates);
  const rest = fees - share * BigInt(activeDelegates);

  const earnings = new Map<PublicKey, Earnings>();
  headers.forEach((header, index) => {
    const before = earnings.get(header.generatorPublicKey) ?? { fees: 0n, rewards: 0n };
    earnings.set(header.generatorPublicKey, {
      fees: before.fees + share + (index === headers.length - 1 ? rest : 0n),
      rewards: before.rewards + header.reward * rewardsFactor,
    });
  });
  return earnings;
}

/**
 * Counts one missed block for each delegate of `list` that forged no block of the round.
 *
 * @param list the delegate list of the round
 * @param headers headers of all blocks of the round
 */
export function countMissedBlocks(
  state: StateWriter,
  list: readonly PublicKey[],
  headers: readonly BlockHeader[],
  addressOf: (publicKey: PublicKey) => Address,
): void {
  const forgers = new Set(headers.map((header) => header.generatorPublicKey));
  for (const publicKey of list) {
    if (forgers.has(publicKey)) continue;
    const account = state.account(addressOf(publicKey));
    if (account !== undefined) state.setAccount({ ...account, missedBlocks: account.missedBlocks + 1 });
  }
}

/**
 * Adds the earnings of each forger to the forger's balance, and to the forger's totals of forged fees and of forged
 * rewards. The vote weight of each delegate for whom the forger votes increases by the sum of these earnings.
 */
export function payEarnings(
  state: StateWriter,
  earnings: ReadonlyMap<PublicKey, Earnings>,
  addressOf: (publicKey: PublicKey) => Address,
  addVoteWeight: AddVoteWeight,
): void {
  for (const [publicKey, { fees, rewards }] of earnings) {
    const address = addressOf(publicKey);
    const account: Account = state.account(address) ?? emptyAccount(address);
    const earned = fees + rewards;
    if (earned === 0n) continue;
    state.setAccount({
      ...account,
      balance: account.balance + earned,
      forgedFees: account.forgedFees + fees,
      forgedRewards: account.forgedRewards + rewards,
    });
    for (const vote of account.votes) addVoteWeight(state, vote, earned);
  }
}
