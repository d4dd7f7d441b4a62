/** Computes the reward of the block at a height, and the supply at a height. */

import { GENESIS_SUPPLY, type RewardParams } from './params.ts';

/**
 * Index of the milestone (`RewardParams`) that applies at a height. The last milestone applies to all later heights.
 * For heights below the offset, the index is 0, but blocks at these heights have no reward.
 */
export function milestoneAt(height: number, rewards: RewardParams): number {
  const passed = Math.max(0, Math.trunc((height - rewards.offset) / rewards.distance));
  return Math.min(passed, rewards.milestones.length - 1);
}

/**
 * Full reward of the block at a height, in beddows. The reward is 0 for heights below the offset. In generation 3, a
 * block whose `maxHeightPreviouslyForged` is not compliant (`isCompliant`) earns only a quarter of this reward.
 */
export function rewardAt(height: number, rewards: RewardParams): bigint {
  if (height < rewards.offset) return 0n;
  return rewards.milestones[milestoneAt(height, rewards)] ?? 0n;
}

/**
 * The supply in beddows as the HTTP interface shows it: the supply of the genesis block plus the full rewards of all
 * blocks up to and including the given height. The real supply differs if some blocks earned only a quarter of the
 * reward (generation 3), or if an exception of the network changes rewards.
 */
export function supplyAt(height: number, rewards: RewardParams): bigint {
  let supply = GENESIS_SUPPLY;
  const last = rewards.milestones.length - 1;
  rewards.milestones.forEach((reward, milestone) => {
    const from = rewards.offset + milestone * rewards.distance;
    const until = milestone === last ? Infinity : from + rewards.distance;
    const blocks = Math.min(height + 1, until) - from;
    if (blocks > 0) supply += reward * BigInt(blocks);
  });
  return supply;
}
