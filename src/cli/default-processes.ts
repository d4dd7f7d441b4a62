/**
 * Computes the default number of reading processes of `bloomery start`. A reading process is an extra process that
 * answers HTTP requests on the port of the node.
 */

import { availableParallelism, totalmem } from 'node:os';

/**
 * Minimum memory, in bytes, of a machine on which a node has a reading process by default. A reading process is an
 * extra process that answers HTTP requests. This process needs up to 200 MB in addition to the memory of the node's own
 * process.
 */
const MEMORY_BYTES_MIN = 1_000_000_000;
/**
 * Minimum number of cores of a machine on which a node has a reading process by default. A reading process is an extra
 * process that answers HTTP requests. On a single core, this process has no advantage: with and without it, answers to
 * HTTP requests take processor time from forging.
 */
const CORES_MIN = 2;

export interface Machine {
  readonly cores: number;
  /** Memory of the machine, or the memory limit of the container if this limit is lower. */
  readonly memoryBytes: number;
}

/** Returns the default value of the option `http.processes` for `bloomery start`. */
export function defaultProcesses({ cores, memoryBytes }: Machine = thisMachine()): number {
  return cores >= CORES_MIN && memoryBytes >= MEMORY_BYTES_MIN ? 1 : 0;
}

function thisMachine(): Machine {
  // If the memory of the process has no limit, `constrainedMemory` returns 0, or a value above the machine's memory.
  const constrainedBytes = process.constrainedMemory();
  const memoryBytes = Math.min(totalmem(), constrainedBytes > 0 ? constrainedBytes : Number.POSITIVE_INFINITY);
  return { cores: availableParallelism(), memoryBytes };
}
