/**
 * Share of the peers that are at the node's tip, without the dips that each new block brings: until all have taken it, some
 * are a block behind, and that is no news.
 */

export interface Sample {
  readonly atMs: number;
  readonly percent: number;
}

/**
 * This time spans several slots and many samples; in one of the samples all peers of an honest network have the tip.
 */
export const STEADY_MS = 30_000;

/** Samples with a new one, without those that are too old to count. Oldest first. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter(({ atMs }) => sample.atMs - atMs < STEADY_MS), sample];
}

/** The highest sample; undefined if there is none. */
export function steadyPercent(samples: readonly Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ percent }) => percent));
}
