/**
 * Smooths the percentage of peers that have the node's tip. Without smoothing, the percentage drops after each new
 * block until the peers have received the block.
 */

export interface Sample {
  readonly atMs: number;
  readonly percent: number;
}

/**
 * Time in milliseconds that spans several slots and many samples. In an honest network, at least one sample in this
 * time shows that all peers have the tip.
 */
export const STEADY_MS = 30_000;

/** Adds a new sample, and removes samples that are too old to count. The samples are ordered, oldest first. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter(({ atMs }) => sample.atMs - atMs < STEADY_MS), sample];
}

/** Returns the highest percentage of all samples; undefined without samples. */
export function steadyPercent(samples: readonly Sample[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples.map(({ percent }) => percent));
}
