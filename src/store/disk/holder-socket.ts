/**
 * Finds out whether a process of another container is alive. Each holder listens on a socket beside its claim. The
 * system accepts connections even for a paused process, and refuses them when the process is gone. This works although
 * containers number their processes independently.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';

export interface HolderSocket {
  close(): void;
}

const ANSWER_MS_MAX = 5_000;

/**
 * Program that connects to a socket. Exit code 3 means that nobody listens. Any other result counts as a living holder,
 * so that no living holder loses its claim.
 */
const CONNECT = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => process.exit(0));
socket.on('error', ({ code }) => process.exit(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(code) ? 3 : 0));
`;
const NOBODY = 3;

/**
 * Listens until the process ends or until `close`. On a file system without sockets nothing listens, and only the age
 * of a claim counts.
 *
 * @param name name of the socket in the folder
 */
export function listenAsHolder(directory: string, name: string): HolderSocket {
  const path = join(directory, name);
  rmSync(path, { force: true });
  let server: Server | undefined;
  let folder: number | undefined;
  try {
    // Paths of sockets have at most about a hundred characters; a path through the open folder is always short enough.
    folder = openSync(directory, 'r');
    server = createServer((connection) => connection.destroy());
    server.on('error', () => undefined);
    server.listen(`/proc/self/fd/${folder}/${name}`);
    server.unref();
  } catch {
    // The file system has no sockets: only the age of the claim counts.
  }
  return {
    close: () => {
      const opened = folder;
      folder = undefined;
      if (opened === undefined) return;
      const closeFolder = (): void => closeSync(opened);
      if (server?.listening === true) server.close(closeFolder);
      else closeFolder();
      rmSync(path, { force: true });
    },
  };
}

/** True when a process listens on the socket; false when there is no socket. */
export function isHolderListening(directory: string, name: string): boolean {
  // Node can connect only asynchronously, but a lock must be decided before the event loop continues, so another
  // process connects.
  const { status } = spawnSync(process.execPath, ['-e', CONNECT, name], {
    cwd: directory,
    stdio: 'ignore',
    timeout: ANSWER_MS_MAX,
  });
  return status !== NOBODY;
}
