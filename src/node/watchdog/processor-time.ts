/** Measures how much processor time the process gets. */

import { readFileSync } from 'node:fs';

export interface ProcessorTime {
  /**
   * Time in milliseconds for which the main thread has waited for a processor; 0 if the system does not report this
   * time.
   */
  readonly waitedMs: number;
  /** Processor time of all threads of the process, in milliseconds. */
  readonly usedMs: number;
}

export function processorTime(): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return { waitedMs: waitedMsOfMainThread(), usedMs: (user + system) / 1000 };
}

/** Source: the second number of `schedstat` in proc(5), in nanoseconds. The main thread has the id of the process. */
function waitedMsOfMainThread(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1_000_000;
  } catch {
    return 0;
  }
}
