/**
 * Whether a process of another container lives, a paused one too. It listens on a socket beside its claim: the system accepts
 * connections for a process that stands still, and refuses them once it is gone, whatever numbers containers give processes.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';

export interface HolderSocket {
  close(): void;
}

const ANSWER_MS_MAX = 5_000;

/** Exit code 3 says that nobody listens; anything else counts as somebody, who is not to be disturbed. */
const CONNECT = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => process.exit(0));
socket.on('error', ({ code }) => process.exit(['ECONNREFUSED', 'ENOENT', 'ENOTSOCK'].includes(code) ? 3 : 0));
`;
const NOBODY = 3;

/**
 * Listens as long as this process lives, or until `close`. Where the file system has no sockets nothing listens, and a claim
 * counts by its age alone.
 *
 * @param name of the socket in the folder
 */
export function listenAsHolder(directory: string, name: string): HolderSocket {
  const path = join(directory, name);
  rmSync(path, { force: true });
  let server: Server | undefined;
  let folder: number | undefined;
  try {
    // Names of sockets have some hundred characters at most; through the open folder any path is short.
    folder = openSync(directory, 'r');
    server = createServer((connection) => connection.destroy());
    server.on('error', () => undefined);
    server.listen(`/proc/self/fd/${folder}/${name}`);
    server.unref();
  } catch {
    // As said above.
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

/** Whether somebody listens on the socket; false where there is none. */
export function isHolderListening(directory: string, name: string): boolean {
  // Connecting is asynchronous in Node, and whoever takes a lock must know before anything else happens.
  const { status } = spawnSync(process.execPath, ['-e', CONNECT, name], {
    cwd: directory,
    stdio: 'ignore',
    timeout: ANSWER_MS_MAX,
  });
  return status !== NOBODY;
}
