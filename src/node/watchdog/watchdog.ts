/**
 * The watchdog of a process: a thread that ends it with a last word when it can no longer do its work, so that whatever runs
 * the process starts it again. The thread looks from beside: a main thread that stands still cannot notice itself.
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
  /** With which the process ends as long as its main thread does anything; else `WATCHDOG_SIGNAL` ends it. */
  readonly exitCode: number;
  readonly log: LastWordPlace;
  readonly observer: Observer;
}

/** Where and how the last word is written. */
interface LastWordPlace {
  readonly format: 'human' | 'json';
  /** The log file; the standard error output unless given. */
  readonly file?: string;
}

/** What the thread is told when it starts. */
export interface WatchdogData {
  readonly memory: SharedArrayBuffer;
  readonly limits: HealthLimits;
  readonly log: LastWordPlace;
}

export interface Watchdog {
  /** From now on a main thread that stands still is at fault. */
  arm(): void;
  stop(): Promise<void>;
}

/** The thread needs little; what it may have at most counts towards the memory of the process. */
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
    observer.log('error', 'WATCHDOG_LOST', 'nothing watches this process any more: restart it soon', { reason });
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
  const beat = (): void => {
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
    async stop() {
      isStopped = true;
      clearInterval(timer);
      collections.disconnect();
      await worker.terminate();
    },
  };
}

let collectNow: (() => void) | undefined;

/** V8 collects late as long as its own limit is far away; it does so at once when asked through this function of its own. */
function collectGarbage(): void {
  if (collectNow === undefined) {
    setFlagsFromString('--expose-gc');
    collectNow = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  collectNow();
}
