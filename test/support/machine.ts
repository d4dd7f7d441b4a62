/** Whether this machine has processor time to spare: where it has not, how long something took says nothing of the node. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';

/** Beyond it, times tell of the other work of the machine. */
const LOAD_PER_PROCESSOR_MAX = 1.5;
/** For an empty process from its start to its end: several times what a machine of its own takes. */
const EMPTY_PROCESS_MS_MAX = 300;

/** Processes that wanted to run within the last minute, for each processor; 0 where the system does not tell. */
export function loadPerProcessor(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}

/** Judged by what the system tells of the last minute. */
export function isMachineFree(): boolean {
  return loadPerProcessor() <= LOAD_PER_PROCESSOR_MAX;
}

/** Judged by a trial too, as some systems tell of no load. */
export async function isMachineQuick(): Promise<boolean> {
  if (!isMachineFree()) return false;
  const startedMs = performance.now();
  await once(spawn(process.execPath, ['-e', ''], { stdio: 'ignore' }), 'exit');
  return performance.now() - startedMs < EMPTY_PROCESS_MS_MAX;
}
