/**
 * A connection of a client, from its acceptance to its end. Between the socket and the parser of node:http stands a gate that
 * lets the bytes of one request through at a time: the next request is not parsed before the answer to the one before it has
 * left the process. node:http itself parses all that one read brings, thousands of requests, before it answers the first.
 *
 * A body is let through only once its request was found worth reading. An answer that comes before that ends the connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MonotonicClock } from '../monotonic-clock.ts';
import type { Buffers, Holder } from './buffers.ts';
import type { Place } from './connections.ts';
import {
  BODY_BYTES_MAX,
  INPUT_BYTES_MAX,
  LINGER_BYTES_MAX,
  LINGER_MS,
  PIPELINED_BYTES_MAX,
  READING_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from './limits.ts';
import type { RefusalReason } from './refusals.ts';
import { REQUEST_TIMEOUT_ANSWER } from './refused-answers.ts';
import type { Turns } from './turns.ts';

/** What a connection needs of the admission that it belongs to. */
export interface ConnectionHost {
  readonly clock: MonotonicClock;
  readonly turns: Turns;
  readonly buffers: Buffers;
  readonly headersTimeoutMs: number;
  /** Counts a refusal, and may close all connections of the address for it. */
  refused(connection: ClientConnection, reason: RefusalReason): void;
  /** Shuts the address out for what no client does that means well. */
  offended(connection: ClientConnection, reason: RefusalReason): void;
}

/**
 * - `arriving`: nothing of a request has come, or a part of its head; before TLS is agreed on, nothing of that either
 * - `waiting`: a request has come and waits for its turn
 * - `answering`: a request is at work, its body may be on its way
 * - `reading`: the answer is made, the client has not read it yet
 * - `idle`: between two requests
 * - `lingering`: the last answer is sent; what still comes is thrown away
 */
type Phase = 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';

interface Exchange {
  readonly request: IncomingMessage;
  takesBody: boolean;
  /** Of a body with a stated length: what has not been let through yet. */
  bodyBytesLeft: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

export class ClientConnection implements Place, Holder {
  readonly key: string;
  readonly isTrusted: boolean;
  bufferedBytes = 0;
  readonly #host: ConnectionHost;
  readonly #arrived: Socket;
  /** What is read and written: the connection itself, or the TLS above it. */
  #socket: Socket;
  #phase: Phase = 'arriving';
  #phaseStartMs: number;
  #exchange: Exchange | undefined;
  /** Came, and is not let through yet. */
  #held: Buffer = NOTHING;
  #isPaused = false;
  #lingeredBytes = 0;
  #parse: (piece: Buffer) => void = () => undefined;

  constructor(socket: Socket, key: string, isTrusted: boolean, host: ConnectionHost) {
    this.#arrived = socket;
    this.#socket = socket;
    this.key = key;
    this.isTrusted = isTrusted;
    this.#host = host;
    this.#phaseStartMs = host.clock.nowMs();
  }

  get isIdle(): boolean {
    return this.#phase === 'arriving' || this.#phase === 'idle';
  }

  get isLingering(): boolean {
    return this.#phase === 'lingering';
  }

  /**
   * Stands between the socket and the parser that listens to it.
   *
   * @param socket the connection itself or the TLS above it, just taken over by a server of node:http
   */
  guard(socket: Socket): void {
    this.#socket = socket;
    // The one listener is the parser's. Another one beside it makes node:http read through listeners and not beneath them.
    const [parse] = socket.listeners('data') as ((piece: Buffer) => void)[];
    if (parse === undefined) throw new Error('node:http does not listen to its socket');
    this.#parse = parse;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.removeListener('data', parse);
    // Where node:http would end the connection after an answer, unread bytes of the request would reset it.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      if (this.#held.length > 0 || this.#exchange?.request.complete === false) this.#linger();
      else destroySoon();
    };
  }

  /**
   * Has a stranger's connection cost next to nothing before it says something: only then, and in its turn, it gets a parser.
   *
   * @param takeOver makes a server of node:http take the socket over, and calls `guard`
   */
  guardOnceItSpeaks(socket: Socket, takeOver: () => void): void {
    if (this.isTrusted) return takeOver();
    this.#socket = socket;
    const leave = (): void => void socket.destroy();
    socket.on('error', leave);
    socket.on('end', leave);
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      this.#enter('waiting');
      this.#isPaused = true;
      this.#held = chunk;
      this.#account();
      this.#takeTurn(() => {
        socket.off('end', leave);
        this.#enter('arriving');
        takeOver();
        // Errors are the server's business from here on.
        socket.off('error', leave);
        this.#letThrough();
      });
    });
  }

  /** Answers the first bytes that come, whatever they say, and ends. */
  refuseAll(socket: Socket, answer: Buffer, reason: RefusalReason): void {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (this.#phase === 'lingering') this.#discard(chunk);
      if (this.#phase !== 'arriving') return;
      this.#enter('waiting');
      socket.pause();
      this.#takeTurn(() => {
        this.end(answer);
        this.#host.refused(this, reason);
      });
    });
  }

  /** A request was read up to its body. Until it is answered, nothing else is read but its body, if that is wanted. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#exchange = { request, takesBody: false, bodyBytesLeft: Number(request.headers['content-length'] ?? 0) };
    this.#enter('answering');
    response.on('finish', () => this.#finish());
    // Nobody looks at how long a trusted client reads, and at what it is sent.
    if (this.isTrusted) return;
    response.on('prefinish', () => {
      this.#enter('reading');
      this.#account();
    });
  }

  /** The body of the request at work may be read. */
  acceptBody(): void {
    if (this.#exchange !== undefined) this.#exchange.takesBody = true;
  }

  /** Sends a last answer. */
  end(answer: Buffer): void {
    if (this.#socket.writable) this.#socket.write(answer);
    this.#linger();
  }

  cut(reason: RefusalReason): void {
    this.destroy();
    this.#host.refused(this, reason);
  }

  cutForBuffers(): void {
    this.cut('buffers');
  }

  cutForNewcomer(): void {
    this.destroy();
    this.#host.refused(this, 'connections');
  }

  destroy(): void {
    this.#held = NOTHING;
    this.#socket.destroy();
    this.#arrived.destroy();
  }

  /** The connection is gone: gives back what it held. */
  closed(): void {
    this.#held = NOTHING;
    this.#exchange = undefined;
    this.#host.buffers.hold(this, 0);
  }

  /** Ends what takes longer than it may. */
  checkTime(nowMs: number): void {
    this.#account();
    const spentMs = nowMs - this.#phaseStartMs;
    switch (this.#phase) {
      case 'arriving':
        if (spentMs <= this.#host.headersTimeoutMs) return;
        if (this.#socket !== this.#arrived || this.#socket.listenerCount('data') > 0) this.end(REQUEST_TIMEOUT_ANSWER);
        else this.destroy();
        return this.#host.refused(this, 'headers_time');
      case 'waiting':
        return spentMs > REQUEST_TIMEOUT_MS ? this.destroy() : undefined;
      case 'answering':
        if (spentMs > REQUEST_TIMEOUT_MS && this.#isBodyMissing()) {
          this.end(REQUEST_TIMEOUT_ANSWER);
          this.#host.refused(this, 'request_time');
        }
        return;
      case 'reading':
        return spentMs > READING_TIMEOUT_MS && !this.isTrusted ? this.cut('reading_time') : undefined;
      case 'lingering':
        return spentMs > LINGER_MS ? this.destroy() : undefined;
      case 'idle':
      // node:http closes those.
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#phase === 'lingering') return this.#discard(chunk);
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    if (this.#phase === 'idle') this.#enter('arriving');
    const isOnTop = this.#exchange !== undefined && !this.#isBodyMissing();
    if (this.#held.length > (isOnTop && this.#exchange?.request.complete ? PIPELINED_BYTES_MAX : INPUT_BYTES_MAX)) {
      this.destroy();
      return this.#host.offended(this, 'pipelined');
    }
    if (!isOnTop && this.#phase !== 'waiting') this.#letThroughInTurn();
    else this.#settle();
  }

  #letThroughInTurn(): void {
    if (this.isTrusted) return this.#letThrough();
    const before = this.#phase;
    this.#phase = 'waiting';
    this.#takeTurn(() => {
      this.#phase = before;
      this.#letThrough();
    });
    this.#settle();
  }

  #takeTurn(work: () => void): void {
    if (this.isTrusted) return work();
    this.#host.turns.take(this.key, () => {
      if (!this.#socket.destroyed && this.#phase === 'waiting') work();
    });
  }

  /** Gives the parser the rest of one request, as far as it is here and wanted. */
  #letThrough(): void {
    for (let bytes = this.#nextPiece(); bytes > 0 && !this.#socket.destroyed; bytes = this.#nextPiece()) {
      const isAll = bytes === this.#held.length;
      const piece = isAll ? this.#held : this.#held.subarray(0, bytes);
      this.#held = isAll ? NOTHING : this.#held.subarray(bytes);
      const exchange = this.#exchange;
      if (exchange !== undefined) exchange.bodyBytesLeft -= bytes;
      this.#parse(piece);
    }
    this.#settle();
    const { request } = this.#exchange ?? {};
    if (request?.complete && this.#held.length > PIPELINED_BYTES_MAX) {
      this.destroy();
      this.#host.offended(this, 'pipelined');
    }
  }

  /** How many of the held bytes the parser may have: never more than end the head or the body of one request. */
  #nextPiece(): number {
    if (this.#held.length === 0 || this.isLingering) return 0;
    if (this.#exchange === undefined) return upToHeadEnd(this.#held);
    if (!this.#isBodyMissing()) return 0;
    const { request, bodyBytesLeft } = this.#exchange;
    // The end of a body in chunks looks like the end of a head; within a chunk the same bytes do no harm.
    if (request.headers['transfer-encoding'] !== undefined) return upToHeadEnd(this.#held);
    return Math.min(this.#held.length, bodyBytesLeft);
  }

  #isBodyMissing(): boolean {
    return this.#exchange !== undefined && this.#exchange.takesBody && !this.#exchange.request.complete;
  }

  /** The answer has left the process. */
  #finish(): void {
    const isComplete = this.#exchange?.request.complete;
    this.#exchange = undefined;
    if (this.isLingering || this.#socket.destroyed) return;
    if (isComplete === false) return this.#linger();
    this.#enter(this.#held.length > 0 ? 'arriving' : 'idle');
    if (this.#held.length > 0) this.#letThroughInTurn();
    else this.#settle();
  }

  /** Stops reading while what came waits: the rest waits in the kernel, and at the client. */
  #settle(): void {
    const mustWait = this.#held.length > 0 && (this.#phase === 'waiting' || this.#exchange !== undefined);
    if (mustWait !== this.#isPaused && !this.isLingering) {
      this.#isPaused = mustWait;
      if (mustWait) this.#socket.pause();
      else this.#socket.resume();
    }
    this.#account();
  }

  #linger(): void {
    this.#held = NOTHING;
    this.#exchange = undefined;
    this.#enter('lingering');
    this.#account();
    this.#socket.end();
    this.#socket.resume();
  }

  /** Reads on for a client that is still sending, within bounds; more than that it may keep. */
  #discard(chunk: Buffer): void {
    this.#lingeredBytes += chunk.length;
    if (this.#lingeredBytes > LINGER_BYTES_MAX) this.#socket.pause();
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#phaseStartMs = this.#host.clock.nowMs();
  }

  /** What this connection makes the node hold: bytes that came, a body that is read, an answer that is not read. */
  #account(): void {
    if (this.isTrusted) return;
    const bodyBytes = this.#isBodyMissing() || this.#phase === 'answering' ? this.#bodyBytes() : 0;
    const { readableLength, writableLength } = this.#socket;
    this.#host.buffers.hold(this, this.#held.length + readableLength + bodyBytes + writableLength);
  }

  #bodyBytes(): number {
    const { request, takesBody } = this.#exchange ?? {};
    if (request === undefined || takesBody !== true) return 0;
    const stated = request.headers['content-length'];
    return stated === undefined ? BODY_BYTES_MAX : Number(stated);
  }
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
