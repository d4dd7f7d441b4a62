/** Measures the processor time of the process, and the time for which its main thread waited for a processor. */

import { readFileSync } from 'node:fs';

export interface ProcessorTime {
  /**
   * Time in milliseconds for which the main thread has waited for a processor since the start of the process; 0 if the
   * system does not report this time.
   */
  readonly waitedMs: number;
  /** Processor time of all threads since the start of the process, in milliseconds. */
  readonly usedMs: number;
}

export function processorTime(): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return { waitedMs: waitedMsOfMainThread(), usedMs: (user + system) / 1000 };
}

/**
 * The second number in the `schedstat` file of Linux is the waiting time in nanoseconds. The thread id of the main
 * thread is the process id.
 */
function waitedMsOfMainThread(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1_000_000;
  } catch {
    return 0;
  }
}
