/** Finds the processes that answer HTTP for a node. */

import { spawnSync } from 'node:child_process';

/**
 * Returns the process ids of the reading processes of a node (processes that answer HTTP requests for the node). The
 * list is empty if the node does not run.
 */
export function readerPidsOf(nodePid: number | undefined): readonly number[] {
  if (nodePid === undefined) return [];
  // A node without child processes makes ps exit with 1, so the exit status is not checked.
  const { stdout, error } = spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(nodePid)], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return stdout.split('\n').flatMap((line) => (line.includes('reader-program') ? [Number.parseInt(line, 10)] : []));
}
