/** Phases in the life of a client's connection. */

/**
 * - `unread`: the connection waits for its first turn (`fair-scheduler.ts`), and the node has read nothing from it
 * - `arriving`: the head of a request has not arrived completely; on a TLS connection, the phase includes the handshake
 * - `waiting`: bytes have arrived, and wait until the connection has its turn
 * - `answering`: the node handles a request, whose body is possibly still arriving
 * - `reading`: the answer is complete, but a part of it has not left the process
 * - `idle`: the node has answered all requests of the connection, and waits for the next request
 * - `lingering`: the node has sent its last answer, and discards further input
 */
export type ConnectionPhase = 'unread' | 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';
