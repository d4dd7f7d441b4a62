/**
 * Limits the number of HTTP connections, depending on the number of files that the process is allowed to open. Each
 * connection takes a file descriptor. Without a free descriptor, the process cannot open its files, and cannot accept
 * any connection (not even from this machine).
 */

import { readFileSync } from 'node:fs';

/**
 * Number of file descriptors that the node needs for everything except HTTP: store, journals, log, peers, channels
 * between processes.
 */
const OTHER_FILES = 300;
/**
 * HTTP connections are always allowed to take this share of the file descriptors, even if fewer than `OTHER_FILES`
 * descriptors then remain for everything else.
 */
const SHARE_MIN = 1 / 4;

/**
 * Maximum number of files that this process is allowed to open at the same time; undefined if the system reports no
 * number, for example without `/proc`.
 */
export function openFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * Returns the number of connections in the configuration, or a smaller number if the process cannot hold so many
 * connections.
 *
 * @param wanted number of connections in the configuration
 * @param filesMax number of files that the process is allowed to open; undefined for no limit
 */
export function connectionsWithin(wanted: number, filesMax: number | undefined): number {
  if (filesMax === undefined) return wanted;
  return Math.min(wanted, Math.max(filesMax - OTHER_FILES, Math.floor(filesMax * SHARE_MIN)));
}
