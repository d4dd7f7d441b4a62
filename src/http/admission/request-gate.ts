/**
 * Divides the bytes of a connection into single requests for the parser of node:http. The parser gets the head of one
 * request. If the node accepts the body of this request, the parser also gets the body. The gate holds the following
 * bytes until the answer to the request is sent. The gate does not use the socket itself: `ClientConnection` gives
 * bytes to the gate and takes bytes from it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { BODY_BYTES_MAX, INPUT_BYTES_MAX, PIPELINED_BYTES_MAX } from './limits.ts';

/** Members of a request that the gate reads. `complete` turns true when the parser has read the end of the request. */
export type GatedRequest = Pick<IncomingMessage, 'headers' | 'complete'>;

interface Exchange {
  readonly request: GatedRequest;
  takesBody: boolean;
  /** Number of body bytes that were not passed to the parser yet, for a body with a stated length. */
  bodyBytesLeft: number;
  /** Starts the handler that waits for the body of the request; undefined if no handler waits. */
  start: (() => void) | undefined;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/**
 * Maximum number of chunks of input (one chunk for each read from the socket) that the gate holds separately. If there
 * are more chunks, the gate joins them, because each chunk takes memory in addition to its bytes.
 */
const CHUNKS_MAX = 64;

export class RequestGate {
  #exchange: Exchange | undefined;
  /** Chunks of input that were not passed to the parser yet. */
  #chunks: Buffer[] = [];
  #heldBytes = 0;

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** True while a request is being handled, from the end of its head to the end of its answer. */
  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  /**
   * True when the node has accepted the body of the present request, and the parser has not read the whole body yet.
   */
  get isBodyMissing(): boolean {
    return this.#exchange !== undefined && this.#exchange.takesBody && !this.#exchange.request.complete;
  }

  /**
   * True if the parser has not read the end of the present request, for example because the node did not accept the
   * body.
   */
  get isIncomplete(): boolean {
    return this.#exchange?.request.complete === false;
  }

  /** True when the gate holds more bytes than a correct client sends. */
  get isOverfull(): boolean {
    const length = this.#heldBytes;
    if (length > INPUT_BYTES_MAX) return true;
    if (this.#exchange === undefined || length <= PIPELINED_BYTES_MAX) return false;
    const { request, takesBody, bodyBytesLeft } = this.#exchange;
    if (request.complete) return true;
    // A body that was not accepted stays in the gate. Only the bytes after this body belong to later requests. If the
    // body is chunked, the gate cannot count these bytes, because the gate does not know where the body ends.
    return !takesBody && !isChunked(request) && length - bodyBytesLeft > PIPELINED_BYTES_MAX;
  }

  /**
   * Number of input bytes that count towards the limit of `Buffers`. In general, all held bytes count. If the node has
   * accepted a body with a stated length (`Content-Length`), this length counts instead of the held bytes of the body,
   * even before the body arrives. If the node has accepted a body without a stated length, `BODY_BYTES_MAX` bytes count
   * in addition to all held bytes.
   */
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

  /** Called when the parser has read the head of a request. */
  begin(request: GatedRequest): void {
    const bodyBytesLeft = Number(request.headers['content-length'] ?? 0);
    this.#exchange = { request, takesBody: false, bodyBytesLeft, start: undefined };
  }

  /** @param start starts the handler of the present request; see `takeStart` */
  acceptBody(start: () => void): void {
    if (this.#exchange === undefined) return;
    this.#exchange.takesBody = true;
    this.#exchange.start = start;
  }

  /**
   * Returns the function that starts the handler of a request with a body. If the body has a stated length, the method
   * returns this function only after the whole body has arrived. An incomplete body therefore causes no work. If the
   * body is chunked, only the parser finds its end, so the method returns the function immediately, and the handler
   * itself reads the body. The method returns the function only once. At all other times, the result is undefined.
   */
  takeStart(): (() => void) | undefined {
    if (this.#exchange?.start === undefined) return undefined;
    const { request, start, bodyBytesLeft } = this.#exchange;
    if (!isChunked(request) && this.#heldBytes < bodyBytesLeft) return undefined;
    this.#exchange.start = undefined;
    return start;
  }

  /** Called when the answer to the present request has left the process. */
  finish(): void {
    this.#exchange = undefined;
  }

  /** Drops all held bytes and the present request. */
  clear(): void {
    this.#chunks = [];
    this.#heldBytes = 0;
    this.#exchange = undefined;
  }

  /**
   * Returns the bytes that the parser can get now, at most up to the end of one head or one body. Returns undefined if
   * the parser can get no bytes now.
   */
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

  /** The held bytes in one buffer; undefined if the parser can get no bytes now. */
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
    // A chunked body ends with the same bytes as a head (`HEAD_END`). If these bytes occur inside an HTTP chunk, the
    // gate only passes the body to the parser in more pieces. This does no harm.
    return isChunked(this.#exchange.request) ? upToHeadEnd(held) : Math.min(held.length, this.#exchange.bodyBytesLeft);
  }
}

/** True when a body follows the head of a request. */
export function bringsBody(request: Pick<GatedRequest, 'headers'>): boolean {
  return isChunked(request) || (request.headers['content-length'] ?? '0') !== '0';
}

/**
 * Adds the header `Connection: close` to the answer to a request with a body, unless the whole body was read before the
 * answer. Without this header, a client could send its next request while the connection ends, and would get no answer
 * to this next request.
 */
export function closeUnlessBodyIsRead(request: IncomingMessage, response: ServerResponse): void {
  if (!bringsBody(request)) return;
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  request.once('end', () => (response.shouldKeepAlive = shouldKeepAlive));
}

function isChunked({ headers }: Pick<GatedRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/**
 * Number of bytes up to the end of a head. If the end mark of the head (`HEAD_END`) has not arrived completely, the
 * gate holds back the last bytes that can be the start of the mark. The gate therefore also finds an end mark that
 * arrives in two chunks. It never passes on a head together with bytes of the next request.
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
