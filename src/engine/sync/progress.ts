/** Measures the progress of a synchronising node: height, rate and remaining time. */

import type { SyncProgress } from '../../ports/node-api.ts';

/**
 * Time in milliseconds over which the node measures the rate. A shorter time would give an unsteady rate. With a longer
 * time, the rate would follow a change of peer too late.
 */
const WINDOW_MS = 30_000;
/** Maximum number of stored samples of the progress. */
const SAMPLES_MAX = 60;

interface Sample {
  readonly atMs: number;
  readonly height: number;
}

export class ProgressMeter {
  #samples: Sample[] = [];

  begin(height: number, nowMs: number): void {
    this.#samples = [{ atMs: nowMs, height }];
  }

  observe(height: number, nowMs: number): void {
    const newest = this.#samples.at(-1);
    const isSoon = newest !== undefined && nowMs - newest.atMs < WINDOW_MS / SAMPLES_MAX;
    if (isSoon && this.#samples.length > 1) this.#samples.pop();
    this.#samples.push({ atMs: nowMs, height });
    while (this.#samples.length > 2 && nowMs - (this.#samples[0]?.atMs ?? nowMs) > WINDOW_MS) this.#samples.shift();
  }

  /** @param targetHeight height that the sync peer announces */
  read(targetHeight: number): SyncProgress {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const height = last?.height ?? 0;
    const seconds = first === undefined || last === undefined ? 0 : (last.atMs - first.atMs) / 1000;
    const blocksPerS = seconds > 0 ? Math.max(0, (height - (first?.height ?? height)) / seconds) : 0;
    const missing = Math.max(0, targetHeight - height);
    return {
      targetHeight: Math.max(targetHeight, height),
      blocksPerS: Math.round(blocksPerS * 10) / 10,
      ...(blocksPerS > 0 ? { secondsLeft: Math.ceil(missing / blocksPerS) } : {}),
    };
  }
}
