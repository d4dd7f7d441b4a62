/** Finds the processes that answer HTTP for a node. */

import { execFileSync } from 'node:child_process';

/** Returns the process ids of the reading processes of a node; an empty list if the node does not run. */
export function readerPidsOf(nodePid: number | undefined): readonly number[] {
  if (nodePid === undefined) return [];
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(nodePid)], { encoding: 'utf8' });
  return children.split('\n').flatMap((line) => (line.includes('reader-program') ? [Number.parseInt(line, 10)] : []));
}
