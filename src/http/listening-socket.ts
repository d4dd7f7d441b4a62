/**
 * Gives access to listening sockets, so that one process can send these sockets to another process. Several processes
 * can accept connections from one listening socket. A process can also hold a listening socket without accepting from
 * it. The operating system then queues new connections until another process accepts them.
 */

import type { SendHandle } from 'node:child_process';
import type { Server } from 'node:net';

/**
 * The handle of a listening socket. `ChildProcess.send` sends the handle to another process. In that process,
 * `Server.listen` accepts connections from the handle.
 */
export type ListeningSocket = SendHandle & { close(): void };

/** The listening sockets of an HTTP server. */
export interface ListeningSockets {
  readonly plain: ListeningSocket;
  readonly tls?: ListeningSocket;
}

/**
 * Returns the handle of a listening server. node:net has no public name for this handle. If a process sent the server
 * instead of the handle, the receiver would accept connections immediately. The receiver could then not hold the socket
 * without accepting connections.
 */
export function listeningSocketOf(server: Server): ListeningSocket {
  const { _handle: handle } = server as Server & { readonly _handle?: ListeningSocket | null };
  if (handle === undefined || handle === null) throw new Error('the server does not listen');
  return handle;
}
