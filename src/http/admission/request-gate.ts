/**
 * Divides the bytes of a connection into those of single requests: the parser gets the head of one and, where the body is
 * wanted, its body; what comes after it is held until the request is over. Knows bytes and requests, but no socket.
 */

import type { IncomingMessage } from 'node:http';
import { BODY_BYTES_MAX, INPUT_BYTES_MAX, PIPELINED_BYTES_MAX } from './limits.ts';

/** What the gate reads of a request: `complete` turns true when its last byte came. */
export type GatedRequest = Pick<IncomingMessage, 'headers' | 'complete'>;

interface Exchange {
  readonly request: GatedRequest;
  takesBody: boolean;
  /** Of a body with a stated length: what has not been let through yet. */
  bodyBytesLeft: number;
  /** Begins the work on a request whose body is not here yet. */
  start: (() => void) | undefined;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** Pieces that are held side by side before they are joined: each has its cost, however small it is. */
const CHUNKS_MAX = 64;

export class RequestGate {
  #exchange: Exchange | undefined;
  /** Came, and is not let through yet. */
  #chunks: Buffer[] = [];
  #heldBytes = 0;

  get heldBytes(): number {
    return this.#heldBytes;
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
    const length = this.#heldBytes;
    if (length > INPUT_BYTES_MAX) return true;
    if (this.#exchange === undefined || length <= PIPELINED_BYTES_MAX) return false;
    const { request, takesBody, bodyBytesLeft } = this.#exchange;
    if (request.complete) return true;
    // Bytes behind a body that nobody wants are on top, too. Where a body in chunks ends is not known.
    return !takesBody && !isChunked(request) && length - bodyBytesLeft > PIPELINED_BYTES_MAX;
  }

  /** What is held, and what the body of the request at work may have besides, if it is wanted: here, on its way or passed on. */
  get bytes(): number {
    if (this.#exchange?.takesBody !== true) return this.#heldBytes;
    const { request, bodyBytesLeft } = this.#exchange;
    const stated = request.headers['content-length'];
    if (stated === undefined) return BODY_BYTES_MAX + this.#heldBytes;
    return Number(stated) + Math.max(0, this.#heldBytes - bodyBytesLeft);
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#chunks.length > CHUNKS_MAX) this.#joined();
  }

  /** The head of a request was let through. */
  begin(request: GatedRequest): void {
    const bodyBytesLeft = Number(request.headers['content-length'] ?? 0);
    this.#exchange = { request, takesBody: false, bodyBytesLeft, start: undefined };
  }

  /** @param start begins the work on the request at work; see `takeStart` */
  acceptBody(start: () => void): void {
    if (this.#exchange === undefined) return;
    this.#exchange.takesBody = true;
    this.#exchange.start = start;
  }

  /**
   * What begins the work on a request with a body, once that body is here: one that does not end makes no work. A body in chunks
   * is read by the work, as only the parser knows where it ends.
   */
  takeStart(): (() => void) | undefined {
    if (this.#exchange?.start === undefined) return undefined;
    const { request, start, bodyBytesLeft } = this.#exchange;
    if (!isChunked(request) && this.#heldBytes < bodyBytesLeft) return undefined;
    this.#exchange.start = undefined;
    return start;
  }

  /** The answer of the request at work has left the process. */
  finish(): void {
    this.#exchange = undefined;
  }

  /** Forgets everything. */
  clear(): void {
    this.#chunks = [];
    this.#heldBytes = 0;
    this.#exchange = undefined;
  }

  /** Takes what the parser may have now: never more than ends the head or the body of one request. */
  next(): Buffer | undefined {
    const held = this.#held();
    if (held === undefined) return undefined;
    const bytes = this.#bytesToPass(held);
    if (bytes === 0) return undefined;
    this.#chunks = bytes === held.length ? [] : [held.subarray(bytes)];
    this.#heldBytes -= bytes;
    if (this.#exchange !== undefined) this.#exchange.bodyBytesLeft -= bytes;
    return bytes === held.length ? held : held.subarray(0, bytes);
  }

  /** What is held in one piece, unless nothing of it may be passed on. */
  #held(): Buffer | undefined {
    const mustWait = this.#exchange !== undefined && (!this.isBodyMissing || this.#exchange.start !== undefined);
    return mustWait ? undefined : this.#joined();
  }

  #joined(): Buffer | undefined {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0];
  }

  #bytesToPass(held: Buffer): number {
    if (this.#exchange === undefined) return upToHeadEnd(held);
    // The end of a body in chunks looks like the end of a head; within a chunk the same bytes do no harm.
    return isChunked(this.#exchange.request) ? upToHeadEnd(held) : Math.min(held.length, this.#exchange.bodyBytesLeft);
  }
}

function isChunked({ headers }: GatedRequest): boolean {
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
