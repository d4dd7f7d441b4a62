/** Decides from the samples of the watchdog whether a node can still do its work. */

import type { ProcessorTime } from './processor-time.ts';
import type { PulseReading } from './pulse.ts';

export interface HealthLimits {
  /**
   * The memory limit: maximum of `Sample.ownBytes`. While the memory is above a share of this limit (`COLLECT_SHARE`),
   * the watchdog requests garbage collections, at most one in each `COLLECT_INTERVAL_MS`. When the memory rises above
   * the limit itself, the watchdog immediately requests another garbage collection. If the memory then stays above the
   * limit, the watchdog ends the process. In two cases, the watchdog ends the process immediately: the memory is far
   * above the limit (`FLOOD_SHARE`), or the memory is above the limit and the main thread cannot start a collection.
   */
  readonly memoryLimitBytes: number;
  /**
   * Maximum time, in milliseconds, for which the main thread is allowed to be blocked. The same maximum applies to a
   * period in which the main thread spends most of its time on garbage collection (`GC_SHARE_MAX`). 0 means no limit.
   */
  readonly blockedMsMax: number;
}

export interface Sample extends PulseReading, ProcessorTime {
  /** Time of the sample in milliseconds, by a monotonic clock. */
  readonly atMs: number;
  /** Memory of the process in bytes (see `process-memory.ts`). */
  readonly ownBytes: number;
}

export type Verdict =
  | { readonly kind: 'healthy' }
  /** The watchdog requests a garbage collection, which can free enough memory. */
  | { readonly kind: 'collect' }
  | { readonly kind: 'end'; readonly code: EndCode; readonly reason: string };

export type EndCode = 'MEMORY_LIMIT_EXCEEDED' | 'HEAP_FULL' | 'GARBAGE_COLLECTION_ALONE' | 'EVENT_LOOP_BLOCKED';

/** Time in milliseconds between two samples of the process's state. */
export const SAMPLE_INTERVAL_MS = 250;
/**
 * Longest time in milliseconds that a sample can add to `#nowMs`. A longer gap between two samples means that the
 * watchdog did not run, because the process or the machine was suspended or overloaded. The main thread could not run
 * during this gap either, so the watchdog ignores the part of the gap above this time.
 */
const STEP_MS_MAX = 2 * SAMPLE_INTERVAL_MS;
/**
 * Share of the memory limit above which the watchdog requests a garbage collection. Without the request, V8 would start
 * the collection later.
 */
const COLLECT_SHARE = 0.8;
/**
 * Shortest time in milliseconds between two garbage collections that the watchdog requests while the memory is not
 * above the limit. The time is long, because collecting a large heap takes half a second.
 */
const COLLECT_INTERVAL_MS = 120_000;
/**
 * Time in milliseconds for which the memory is allowed to stay above the limit after the watchdog has requested a
 * collection. After this time, the watchdog ends the process.
 */
const COLLECT_GRACE_MS = 2000;
/**
 * Multiple of the memory limit above which the watchdog ends the process immediately. At such a size, the memory
 * probably grows faster than garbage collections can free it.
 */
const FLOOD_SHARE = 1.25;
/**
 * Time in milliseconds without a beat after which the watchdog assumes that the main thread cannot start a collection.
 * While the event loop runs, the main thread increments a counter of beats at short intervals (`pulse.ts`).
 */
const UNRESPONSIVE_MS = 1000;
/**
 * Share of V8's heap limit. If the heap is above this share, V8 does little besides garbage collection. The watchdog
 * ends the process if the heap stays above this share for `HEAP_FULL_MS`.
 */
const HEAP_FULL_SHARE = 0.95;
const HEAP_FULL_MS = 2000;
/**
 * The watchdog ends the process if garbage collection takes at least this share of the time in a period. The period is
 * at least `blockedMsMax` long. At such a share, the node cannot do its work.
 */
const GC_SHARE_MAX = 0.8;
/**
 * If the processor time of the process is below this share of the period, the watchdog ignores `GC_SHARE_MAX`. In this
 * case, other programs use the processors, and a garbage collection takes long because it waits for a processor. A
 * restart would not help, because the new process would also have to wait for a processor.
 */
const PROCESSOR_SHARE_MIN = 0.5;

const HEALTHY: Verdict = { kind: 'healthy' };
const MEGABYTE = 1_000_000;

export class Health {
  readonly #limits: HealthLimits;
  #last: Sample | undefined;
  /**
   * Clock of this object: the sum of the times between samples, in milliseconds. If the time between two samples is
   * longer than `STEP_MS_MAX`, only `STEP_MS_MAX` is added to the sum. The sum excludes the time for which the main
   * thread waited for a processor.
   */
  #nowMs = 0;
  /** Time in milliseconds for which the main thread waited for a processor, but which `#nowMs` does not exclude yet. */
  #uncountedMs = 0;
  /**
   * Value of `#nowMs` at the last sample that had a new beat of the main thread. A sample without a new beat also sets
   * this value while the node starts (`isArmed` is false), and while a debugger can stop the main thread
   * (`isDebugged`).
   */
  #beatMs = 0;
  #heapFullSinceMs: number | undefined;
  /**
   * Value of `#nowMs` at the sample in which the memory rose above the memory limit; undefined if the memory in the
   * last sample is not above the limit.
   */
  #aboveSinceMs: number | undefined;
  #collectedMs = Number.NEGATIVE_INFINITY;
  /**
   * The samples of the last `blockedMsMax` milliseconds, oldest first. `#nowMs` is the clock that measures these
   * milliseconds. In each sample, `gcMs` and `usedMs` are running totals.
   */
  #gcMarks: (Pick<Sample, 'atMs' | 'gcMs' | 'usedMs'> & { readonly nowMs: number })[] = [];

  constructor(limits: HealthLimits) {
    this.#limits = limits;
  }

  judge(sample: Sample): Verdict {
    const last = this.#last ?? sample;
    this.#last = sample;
    const stepMs = Math.min(Math.max(0, sample.atMs - last.atMs), STEP_MS_MAX);
    // The system reports a wait for a processor only when the wait ends, so a wait can be longer than this step.
    this.#uncountedMs += Math.max(0, sample.waitedMs - last.waitedMs);
    const waitedMs = Math.min(stepMs, this.#uncountedMs);
    this.#uncountedMs -= waitedMs;
    this.#nowMs += stepMs - waitedMs;
    if (sample.beats !== last.beats || !sample.isArmed || sample.isDebugged) this.#beatMs = this.#nowMs;
    return (
      this.#judgeMemory(sample) ?? this.#judgeHeap(sample) ?? this.#judgeStanding() ?? this.#judgeGc(sample) ?? HEALTHY
    );
  }

  #judgeMemory({ ownBytes }: Sample): Verdict | undefined {
    const { memoryLimitBytes } = this.#limits;
    if (ownBytes <= memoryLimitBytes) {
      this.#aboveSinceMs = undefined;
      const isDue = this.#nowMs - this.#collectedMs >= COLLECT_INTERVAL_MS;
      return ownBytes > COLLECT_SHARE * memoryLimitBytes && isDue ? this.#collect() : undefined;
    }
    const isHelpless = ownBytes > FLOOD_SHARE * memoryLimitBytes || this.#nowMs - this.#beatMs >= UNRESPONSIVE_MS;
    if (!isHelpless && this.#aboveSinceMs === undefined) {
      this.#aboveSinceMs = this.#nowMs;
      return this.#collect();
    }
    if (!isHelpless && this.#nowMs - (this.#aboveSinceMs ?? 0) < COLLECT_GRACE_MS) return undefined;
    const figures = `${megabytes(ownBytes)} MB of memory exceeded the limit of ${megabytes(memoryLimitBytes)} MB`;
    return { kind: 'end', code: 'MEMORY_LIMIT_EXCEEDED', reason: `${figures} (memory.limitMb)` };
  }

  #collect(): Verdict {
    this.#collectedMs = this.#nowMs;
    return { kind: 'collect' };
  }

  #judgeHeap({ heapUsedBytes, heapLimitBytes }: Sample): Verdict | undefined {
    const isFull = heapLimitBytes > 0 && heapUsedBytes > HEAP_FULL_SHARE * heapLimitBytes;
    if (!isFull) {
      this.#heapFullSinceMs = undefined;
      return undefined;
    }
    this.#heapFullSinceMs ??= this.#nowMs;
    if (this.#nowMs - this.#heapFullSinceMs < HEAP_FULL_MS) return undefined;
    const reason = `${megabytes(heapUsedBytes)} of the ${megabytes(heapLimitBytes)} MB that V8 allows are in use (--max-old-space-size)`;
    return { kind: 'end', code: 'HEAP_FULL', reason };
  }

  #judgeStanding(): Verdict | undefined {
    const { blockedMsMax } = this.#limits;
    const standingMs = this.#nowMs - this.#beatMs;
    if (blockedMsMax === 0 || standingMs < blockedMsMax) return undefined;
    const reason = `the event loop was blocked for ${seconds(standingMs)} s (watchdog.blockedMaxS)`;
    return { kind: 'end', code: 'EVENT_LOOP_BLOCKED', reason };
  }

  #judgeGc({ atMs, gcMs, usedMs, isArmed }: Sample): Verdict | undefined {
    const { blockedMsMax } = this.#limits;
    if (blockedMsMax === 0 || !isArmed) return undefined;
    this.#gcMarks.push({ nowMs: this.#nowMs, atMs, gcMs, usedMs });
    const [oldest] = this.#gcMarks;
    if (oldest === undefined || this.#nowMs - oldest.nowMs < blockedMsMax) return undefined;
    this.#gcMarks.shift();
    const spentMs = gcMs - oldest.gcMs;
    // The duration of a garbage collection includes the waits of the main thread for a processor, so `passedMs` must
    // include these waits, too. The code therefore uses `atMs` here. The clock `#nowMs` excludes the waits.
    const passedMs = atMs - oldest.atMs;
    if (spentMs < GC_SHARE_MAX * passedMs || usedMs - oldest.usedMs < PROCESSOR_SHARE_MIN * passedMs) return undefined;
    const reason = `garbage collection took ${seconds(spentMs)} of the last ${seconds(passedMs)} s (watchdog.blockedMaxS)`;
    return { kind: 'end', code: 'GARBAGE_COLLECTION_ALONE', reason };
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
