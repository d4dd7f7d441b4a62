/** Phases in the life of a client's connection. */

/**
 * - `unread`: a stranger's connection before its first turn; nothing was read from it
 * - `arriving`: nothing or a part of the head of a request has come; with TLS, also the time of the handshake
 * - `waiting`: bytes have come, and wait for the turn of the connection
 * - `answering`: a request is being handled; its body may still be arriving
 * - `reading`: the answer is complete, but the client has not read all of it
 * - `idle`: between two requests
 * - `lingering`: the last answer is sent; further input is discarded
 */
export type ConnectionPhase = 'unread' | 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';
