/**
 * Finds out whether a process of another container is alive. If a process passes a clock to `takeLock`, the process
 * listens on a socket in the folder of the lock file, as long as the process holds the lock. The operating system
 * accepts connections to this socket even while the process is paused, and refuses connections after the process has
 * ended. This method also works if the containers number their processes independently.
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
 * Source code for a child process that connects to a socket. Exit code 3 means that no process listens on the socket.
 * The holder of the lock can still be alive, because some file systems have no sockets: `process-lock.ts` decides about
 * the lock file. After any other exit code, this module assumes that the holder is alive, so that no living process
 * loses its lock file.
 */
const CONNECT = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => process.exit(0));
socket.on('error', ({ code }) => process.exit(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(code) ? 3 : 0));
`;
const NOBODY = 3;

/**
 * Listens on the socket until the process ends or until `close` is called. Some file systems do not support sockets. On
 * such a file system, no process listens, and only the age of a lock file decides whether the lock file is stale (see
 * process-lock.ts).
 *
 * @param name name of the socket in the folder
 */
export function listenAsHolder(directory: string, name: string): HolderSocket {
  const path = join(directory, name);
  rmSync(path, { force: true });
  let server: Server | undefined;
  let folder: number | undefined;
  try {
    // The path of a socket can have at most about a hundred characters. A path through the descriptor of the open
    // folder is always short enough.
    folder = openSync(directory, 'r');
    server = createServer((connection) => connection.destroy());
    server.on('error', () => undefined);
    server.listen(`/proc/self/fd/${folder}/${name}`);
    server.unref();
  } catch {
    // The folder cannot be opened, so this process does not listen. In this case, only the age of the lock file decides
    // whether the lock file is stale.
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

/**
 * Returns false if no process listens on the socket, or if the socket does not exist. Returns true in all other cases,
 * for example if the connection attempt takes longer than `ANSWER_MS_MAX`.
 */
export function isHolderListening(directory: string, name: string): boolean {
  // Node.js can connect to a socket only asynchronously, but this function must return the result synchronously.
  // Therefore a child process connects to the socket, and this process waits for the exit code of the child process.
  const { status } = spawnSync(process.execPath, ['-e', CONNECT, name], {
    cwd: directory,
    stdio: 'ignore',
    timeout: ANSWER_MS_MAX,
  });
  return status !== NOBODY;
}
