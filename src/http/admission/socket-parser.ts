/**
 * Separates a socket from the parser of node:http, so that other code decides when the parser gets bytes. node:http has
 * no interface for this purpose, but it documents that `emit('connection')` passes a socket to a server.
 */

import type { Socket } from 'node:net';

/** Passes bytes to the parser of node:http. */
export type Parse = (chunk: Buffer) => void;

/**
 * Replaces the listener of node:http for received bytes. The socket stays paused.
 *
 * @param takeOver makes a server of node:http listen to the socket
 * @param receive called with the received bytes instead of the parser
 */
export function interceptParser(socket: Socket, takeOver: (socket: Socket) => void, receive: Parse): Parse {
  socket.setNoDelay(true);
  // Adding a listener must not start reading.
  socket.pause();
  takeOver(socket);
  // The parser has the only listener. A second listener would make node:http read through listeners instead of reading
  // the handle directly.
  const [parse] = socket.listeners('data') as Parse[];
  if (parse === undefined) throw new Error('node:http does not listen to its socket');
  socket.on('data', receive);
  socket.removeListener('data', parse);
  return parse;
}

/**
 * Destroys the socket on end or error, while no server listens to the socket.
 *
 * @returns a function that removes the listeners for end and error
 */
export function destroyOnEnd(socket: Socket): () => void {
  const destroy = (): void => void socket.destroy();
  socket.on('error', destroy);
  socket.on('end', destroy);
  return () => {
    socket.off('error', destroy);
    socket.off('end', destroy);
  };
}

/**
 * Switches the timeout of a socket off.
 *
 * @returns a function that restores the timeout
 */
export function suspendTimeout(socket: Socket): () => void {
  const { timeout = 0 } = socket;
  socket.setTimeout(0);
  return () => socket.setTimeout(timeout);
}
