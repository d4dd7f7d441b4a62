/**
 * Share of the peers with the node's tip, without the dip after each new block: for a moment, peers that have not
 * received the block are one block behind.
 */

export interface Sample {
  readonly atMs: number;
  readonly percent: number;
}

/**
 * This time spans several slots and many samples. In an honest network, at least one of the samples shows that all
 * peers have the tip.
 */
export const STEADY_MS = 30_000;

/** Adds a new sample, and removes samples that are too old to count. The samples are ordered, oldest first. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter(({ atMs }) => sample.atMs - atMs < STEADY_MS), sample];
}

/** The highest sample; undefined if there is none. */
export function steadyPercent(samples: readonly Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ percent }) => percent));
}
