/** Phases in the life of a client's connection. */

/**
 * - `unread`: the connection waits for its first turn (`fair-scheduler.ts`), and the node has read nothing from it
 * - `arriving`: the head of a request has not arrived completely; with TLS, the phase includes the handshake
 * - `waiting`: bytes have arrived, and wait for the turn of the connection
 * - `answering`: a request is being handled; perhaps its body is still arriving
 * - `reading`: the answer is complete, but a part of it has not left the process
 * - `idle`: the node has answered all requests of the connection, and waits for the next request
 * - `lingering`: the last answer is sent; further input is discarded
 */
export type ConnectionPhase = 'unread' | 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';
