/** Phases in the life of a client's connection. */

/**
 * - `unread`: a connection of a client that is not trusted, before its first turn (`fair-scheduler.ts`); nothing was
 *   read from it
 * - `arriving`: the head of a request has not arrived completely; with TLS, the phase includes the handshake
 * - `waiting`: bytes have arrived, and wait for the turn of the connection
 * - `answering`: a request is being handled; its body may still be arriving
 * - `reading`: the answer is complete, but a part of it has not left the process
 * - `idle`: between two requests
 * - `lingering`: the last answer is sent; further input is discarded
 */
export type ConnectionPhase = 'unread' | 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';
