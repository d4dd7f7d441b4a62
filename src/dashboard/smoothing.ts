/**
 * Smooths figures that compare the node with its peers: the percentage of peers that have the node's tip, and the
 * number of blocks by which the node is behind its peers. Without smoothing, both figures are worse for a moment after
 * each new block, until the node and its peers have received the block.
 */

import type { Status } from './answers.ts';

export interface Sample {
  readonly atMs: number;
  readonly percent: number;
  /** Blocks by which the tip of the node is below the most frequent height of its peers; 0 if the tip is not below. */
  readonly lag: number;
}

/**
 * Smallest lag that counts as behind, in blocks. Nodes report their heights at slightly different times, so a node with
 * the newest block can seem to be one or two blocks behind.
 */
export const BEHIND_BLOCKS_MIN = 3;

/**
 * Time in milliseconds for which `withSample` keeps a sample: three slots of 10 s. The dashboard takes about ten
 * samples in this time. In a healthy network, at least one of these samples shows that all peers have the tip.
 */
export const SMOOTHING_MS = 30_000;

/** Adds a new sample, and removes samples that are older than `SMOOTHING_MS`. The samples are ordered, oldest first. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter(({ atMs }) => sample.atMs - atMs < SMOOTHING_MS), sample];
}

/**
 * Time in milliseconds for which a node must be behind before the dashboard reports a lag. A healthy node catches up
 * with each new block in less time.
 */
export const BEHIND_MS = 8_000;

/**
 * Returns the smallest lag of the newest samples that together cover at least `BEHIND_MS` milliseconds. Returns 0 if
 * all samples together cover less time.
 */
export function smoothedLag(samples: readonly Sample[]): number {
  const last = samples.at(-1);
  const first = samples.findLast(({ atMs }) => last !== undefined && last.atMs - atMs >= BEHIND_MS);
  if (first === undefined) return 0;
  return Math.min(...samples.slice(samples.indexOf(first)).map(({ lag }) => lag));
}

/** Returns the highest percentage of all samples; undefined without samples. */
export function smoothedPercent(samples: readonly Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ percent }) => percent));
}

/**
 * If the percentage of peers that have the node's tip is below this number, the node is probably on another chain than
 * most of its peers.
 */
export const CONSENSUS_PERCENT_MIN = 51;

export type NodeState = 'no answer' | 'catching up' | 'behind' | 'low consensus' | 'in step';

/**
 * Returns the state of one of the nodes that the dashboard shows side by side.
 *
 * @param status undefined while the node does not answer
 * @param percent recent percentage of the node's peers that have the node's tip, from `smoothedPercent`
 * @param highest greatest height of the shown nodes
 */
export function nodeStateOf(
  status: Pick<Status, 'height' | 'syncing' | 'isAlone'> | undefined,
  percent: number | undefined,
  highest: number,
): NodeState {
  if (status === undefined) return 'no answer';
  if (status.syncing) return 'catching up';
  if (highest - status.height >= BEHIND_BLOCKS_MIN) return 'behind';
  const isLow = status.isAlone !== true && percent !== undefined && percent < CONSENSUS_PERCENT_MIN;
  return isLow ? 'low consensus' : 'in step';
}
