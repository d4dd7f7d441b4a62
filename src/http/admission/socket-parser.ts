/**
 * Separates a socket from the parser of node:http, so that other code decides when the parser gets bytes. node:http has
 * no interface for this purpose. The documentation of node:http describes only one way to pass a socket to a server:
 * `emit('connection')`. The server then adds its listeners to the socket, and this file replaces these listeners.
 */

import type { Socket } from 'node:net';

/** The parser of node:http for one connection, or an object that gets the received bytes in place of this parser. */
export interface Parser {
  /** Passes received bytes to the parser. */
  parse(chunk: Buffer): void;
  /** Tells the parser that the client sends no more bytes. node:http then ends the connection. */
  end(): void;
}

/**
 * Replaces the parser of node:http by `receiver` as the listener for received bytes and for the end of the input. The
 * socket stays paused.
 *
 * @param takeOver passes the socket to a server of node:http, as if the server had accepted the connection
 * @returns the parser of node:http; the caller decides when to pass bytes to this parser
 */
export function interceptParser(socket: Socket, takeOver: (socket: Socket) => void, receiver: Parser): Parser {
  const earlier = new Set(socket.listeners('end'));
  socket.setNoDelay(true);
  // Without this pause, reading from the socket would start as soon as a listener for received bytes (event `data`) is
  // added to the socket.
  socket.pause();
  takeOver(socket);
  // At this point, the parser has the only listener for received bytes, and node:http reads the handle of the socket
  // (`_handle`) directly. When the second listener is added below, node:http stops reading the handle, and the socket
  // passes received bytes to its listeners.
  const [parse] = socket.listeners('data') as Parser['parse'][];
  const end = socket.listeners('end').find((listener) => !earlier.has(listener)) as Parser['end'] | undefined;
  if (parse === undefined || end === undefined) throw new Error('node:http does not listen to its socket');
  socket.on('data', (chunk: Buffer) => receiver.parse(chunk));
  socket.on('end', () => receiver.end());
  socket.removeListener('data', parse);
  socket.removeListener('end', end);
  return { parse, end };
}

/**
 * Destroys the socket when it ends or fails. While no server of node:http listens to the socket, no other code handles
 * these two events.
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
