/**
 * Starts the watchdog of a process: a thread that ends the process when the main thread can no longer work, or when
 * the process uses too much memory. The watchdog logs the reason, and a supervisor (for example systemd) can restart
 * the process. The watchdog must be another thread, because a blocked main thread cannot notice that it is blocked.
 */

import { url as debuggerUrl } from 'node:inspector';
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import type { Observer } from '../../ports/observer.ts';
import { messageOf } from '../../primitives/errors.ts';
import { programBeside } from '../../workers/job-threads.ts';
import { SAMPLE_INTERVAL_MS, type HealthLimits } from './health.ts';
import { Pulse } from './pulse.ts';

export interface WatchdogOptions {
  readonly limits: HealthLimits;
  /**
   * Exit code with which the main thread ends the process when the watchdog requests the end. If the main thread does
   * not react to the request, a signal ends the process (`watchdog-worker.ts`).
   */
  readonly exitCode: number;
  readonly log: LastWordPlace;
  readonly observer: Observer;
}

/** Destination and format of the last log line, which the watchdog writes before it ends the process. */
interface LastWordPlace {
  readonly format: 'human' | 'json';
  /** The log file; default: standard error output. */
  readonly file?: string;
}

/** Data that the thread of the watchdog gets at its start. */
export interface WatchdogData {
  readonly memory: SharedArrayBuffer;
  readonly limits: HealthLimits;
  readonly log: LastWordPlace;
}

export interface Watchdog {
  /**
   * From this call on, the watchdog also ends the process when the main thread is blocked, or spends most of its time
   * on garbage collection. Before this call, the watchdog checks only the memory and the heap. The program calls `arm`
   * when the node has started.
   */
  arm(): void;
  /**
   * Tells the watchdog that the main thread makes progress in long synchronous work. Without these calls, the watchdog
   * would end the process during such work, and the process would begin the same work again after each restart.
   */
  progress(): void;
  stop(): Promise<void>;
}

/**
 * Heap limits of the watchdog's thread in megabytes. The limits are small, because the heap of this thread also counts
 * towards the memory limit of the process.
 */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };
export const THREAD_BYTES_MAX =
  (THREAD_LIMITS.maxOldGenerationSizeMb + THREAD_LIMITS.maxYoungGenerationSizeMb) * 2 ** 20;

export function startWatchdog({ limits, exitCode, log, observer }: WatchdogOptions): Watchdog {
  const pulse = new Pulse();
  const data: WatchdogData = { memory: pulse.memory, limits, log };
  const program = programBeside(import.meta.url, 'watchdog-worker');
  const worker = new Worker(program, { name: 'watchdog', workerData: data, resourceLimits: THREAD_LIMITS });
  let isStopped = false;
  const lost = (reason: string): void => {
    if (isStopped) return;
    isStopped = true;
    observer.log('error', 'WATCHDOG_LOST', 'the watchdog of this process has ended: restart the node soon', { reason });
  };
  worker.on('error', (error) => lost(messageOf(error)));
  worker.on('exit', (code) => lost(`exit code ${code}`));
  worker.unref();

  let gcMs = 0;
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gcMs += duration;
  });
  collections.observe({ entryTypes: ['gc'] });
  let collected = 0;
  let beatAtMs = 0;
  const beat = (): void => {
    beatAtMs = performance.now();
    const { used_heap_size: heapUsedBytes, heap_size_limit: heapLimitBytes } = getHeapStatistics();
    pulse.beat({ heapUsedBytes, heapLimitBytes, gcMs, isDebugged: debuggerUrl() !== undefined });
    if (pulse.isEndWanted) process.exit(exitCode);
    const { collectionsWanted } = pulse;
    if (collectionsWanted === collected) return;
    collected = collectionsWanted;
    collectGarbage();
  };
  beat();
  const timer = setInterval(beat, SAMPLE_INTERVAL_MS);
  timer.unref();

  return {
    arm: () => pulse.arm(),
    progress: () => {
      if (performance.now() - beatAtMs >= SAMPLE_INTERVAL_MS) beat();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      collections.disconnect();
      await worker.terminate();
    },
  };
}

let collectNow: (() => void) | undefined;

/**
 * Runs a garbage collection now. While the heap is far below V8's limit, V8 itself would start a collection much later.
 */
function collectGarbage(): void {
  if (collectNow === undefined) {
    setFlagsFromString('--expose-gc');
    collectNow = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collectNow();
}
