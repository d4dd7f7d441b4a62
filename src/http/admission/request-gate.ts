/**
 * Divides the bytes of a connection into those of single requests: the parser gets the head of one and, where the body is
 * wanted, its body; what comes after it is held until the request is over. Knows bytes and requests, but no socket.
 */

import type { IncomingMessage } from 'node:http';
import { BODY_BYTES_MAX, INPUT_BYTES_MAX, PIPELINED_BYTES_MAX } from './limits.ts';

interface Exchange {
  readonly request: IncomingMessage;
  takesBody: boolean;
  /** Of a body with a stated length: what has not been let through yet. */
  bodyBytesLeft: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

export class RequestGate {
  #exchange: Exchange | undefined;
  /** Came, and is not let through yet. */
  #held: Buffer = NOTHING;

  get heldBytes(): number {
    return this.#held.length;
  }

  /** Whether a request is at work, from the end of its head to the end of its answer. */
  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  /** Whether the request at work still gets bytes of its body. */
  get isBodyMissing(): boolean {
    return this.#exchange !== undefined && this.#exchange.takesBody && !this.#exchange.request.complete;
  }

  /** Whether something of the request at work is still to come, wanted or not. */
  get isIncomplete(): boolean {
    return this.#exchange?.request.complete === false;
  }

  /** Whether more is held than a client sends that means well. */
  get isOverfull(): boolean {
    const { length } = this.#held;
    if (length > INPUT_BYTES_MAX) return true;
    if (this.#exchange === undefined || length <= PIPELINED_BYTES_MAX) return false;
    const { request, takesBody, bodyBytesLeft } = this.#exchange;
    if (request.complete) return true;
    // Bytes behind a body that nobody wants are on top, too. Where a body in chunks ends is not known.
    return !takesBody && !isChunked(request) && length - bodyBytesLeft > PIPELINED_BYTES_MAX;
  }

  /** What the body of the request at work may have once it is here; 0 unless it is wanted. */
  get bodyBytes(): number {
    if (this.#exchange?.takesBody !== true) return 0;
    const stated = this.#exchange.request.headers['content-length'];
    return stated === undefined ? BODY_BYTES_MAX : Number(stated);
  }

  add(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
  }

  /** The head of a request was let through. */
  begin(request: IncomingMessage): void {
    this.#exchange = { request, takesBody: false, bodyBytesLeft: Number(request.headers['content-length'] ?? 0) };
  }

  acceptBody(): void {
    if (this.#exchange !== undefined) this.#exchange.takesBody = true;
  }

  /** The answer of the request at work has left the process. */
  finish(): void {
    this.#exchange = undefined;
  }

  /** Forgets everything. */
  clear(): void {
    this.#held = NOTHING;
    this.#exchange = undefined;
  }

  /** Takes what the parser may have now: never more than ends the head or the body of one request. */
  next(): Buffer | undefined {
    const bytes = this.#bytesToPass();
    if (bytes === 0) return undefined;
    const isAll = bytes === this.#held.length;
    const piece = isAll ? this.#held : this.#held.subarray(0, bytes);
    this.#held = isAll ? NOTHING : this.#held.subarray(bytes);
    if (this.#exchange !== undefined) this.#exchange.bodyBytesLeft -= bytes;
    return piece;
  }

  #bytesToPass(): number {
    if (this.#held.length === 0) return 0;
    if (this.#exchange === undefined) return upToHeadEnd(this.#held);
    if (!this.isBodyMissing) return 0;
    // The end of a body in chunks looks like the end of a head; within a chunk the same bytes do no harm.
    if (isChunked(this.#exchange.request)) return upToHeadEnd(this.#held);
    return Math.min(this.#held.length, this.#exchange.bodyBytesLeft);
  }
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/**
 * Bytes up to the end of a head, or all but those that may be the beginning of its end: so that what is let through never
 * reaches into the next request.
 */
function upToHeadEnd(bytes: Buffer): number {
  const end = bytes.indexOf(HEAD_END);
  if (end >= 0) return end + HEAD_END.length;
  for (let kept = HEAD_END.length - 1; kept > 0; kept -= 1) {
    if (bytes.length >= kept && bytes.subarray(bytes.length - kept).equals(HEAD_END.subarray(0, kept))) {
      return bytes.length - kept;
    }
  }
  return bytes.length;
}
