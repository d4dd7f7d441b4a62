/** Measures the progress of a sync: target height, blocks per second, and remaining time. */

import type { SyncProgress } from '../../ports/node-api.ts';

/**
 * Time in milliseconds over which the node measures the rate of blocks. Over a shorter time, the rate would vary too
 * much. Over a longer time, the rate would show too late that the download has become faster or slower.
 */
const WINDOW_MS = 30_000;
/**
 * If a sample arrives every few milliseconds, the meter keeps one sample for each `WINDOW_MS / SAMPLES_MAX` (500 ms).
 * For a time of `WINDOW_MS`, these are about `SAMPLES_MAX` samples. If a sample arrives every 250 ms, the meter keeps
 * every sample: about twice as many. The meter never keeps more than that.
 */
const SAMPLES_MAX = 60;

interface Sample {
  readonly atMs: number;
  readonly height: number;
}

export class ProgressMeter {
  #samples: Sample[] = [];

  /**
   * Deletes the samples of the previous sync, and starts to measure the block rate of a new sync at the given height.
   */
  begin(height: number, nowMs: number): void {
    this.#samples = [{ atMs: nowMs, height }];
  }

  /** Adds a sample after the node has applied blocks up to a height. */
  observe(height: number, nowMs: number): void {
    // The new sample replaces the last sample if the second-last sample is less than `WINDOW_MS / SAMPLES_MAX` old. If
    // the code checked the age of the last sample instead, each of many frequent samples would replace the sample
    // before it. An array with two samples would then never get a third. The loop below deletes the oldest sample only
    // if the array has more than two samples, so the oldest sample would stay for ever.
    const before = this.#samples.at(-2);
    if (before !== undefined && nowMs - before.atMs < WINDOW_MS / SAMPLES_MAX) this.#samples.pop();
    this.#samples.push({ atMs: nowMs, height });
    while (this.#samples.length > 2 && nowMs - (this.#samples[0]?.atMs ?? nowMs) > WINDOW_MS) this.#samples.shift();
  }

  /**
   * Returns the progress.
   *
   * @param targetHeight height that the sync peer announces
   */
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
