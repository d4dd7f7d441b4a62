/** What blocks and finished rounds do to their forgers: counts, fees, rewards. */

import { assert } from '../primitives/errors.ts';
import type { ChainParams } from './params.ts';
import { firstHeightOf, roundOf, type RoundLength } from './rounds.ts';
import { emptyAccount, type Account, type StateReader, type StateWriter } from './state.ts';
import type { Address, BlockHeader, PublicKey } from './types.ts';

/** Adds beddows to the standing of a delegate that somebody votes for: at once, or at the end of the round. */
export type AddVoteWeight = (state: StateWriter, delegate: PublicKey, beddows: bigint) => void;

/** What a forger earns in one round. */
export interface Earnings {
  readonly fees: bigint;
  readonly rewards: bigint;
}

/** Counts a block for its generator, if that has an account. */
export function countProducedBlock(state: StateWriter, generator: Address): void {
  const account = state.account(generator);
  if (account !== undefined) state.setAccount({ ...account, producedBlocks: account.producedBlocks + 1 });
}

/** Headers of the round that `last` ends, in ascending height; the state does not hold `last` yet. */
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
 * Shares the fees of a finished round: an equal part for each block, what cannot be divided to the forger of the last block,
 * and to each block its own reward.
 *
 * @param headers all blocks of the round in ascending height
 * @returns earnings by generator, in the order of their first block
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

/** Counts the round as missed for each listed delegate that forged none of its blocks. */
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

/** Books earnings on the forgers' accounts and passes them on to the delegates that they vote for. */
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
