/**
 * A connection of a client, from its acceptance to its end: when it is read, how long it may take, what it makes the node hold,
 * and how it ends. Between the socket and the parser of node:http stands a gate (`request-gate.ts`) that lets the bytes of one
 * request through at a time: the next request is not parsed before the answer to the one before it has left the process.
 * node:http itself parses all that one read brings, thousands of requests, before it answers the first.
 *
 * Nothing is read of a stranger before its turn. A body is let through only once its request was found worth reading. An answer
 * that comes before that ends the connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MonotonicClock } from '../monotonic-clock.ts';
import type { Buffers, Holder } from './buffers.ts';
import type { Place } from './connections.ts';
import {
  INPUT_WEIGHT,
  LINGER_BYTES_MAX,
  LINGER_MS,
  READ_MS_PER_BYTE,
  READING_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from './limits.ts';
import type { RefusalReason } from './refusals.ts';
import { REQUEST_TIMEOUT_ANSWER } from './refused-answers.ts';
import { RequestGate } from './request-gate.ts';
import type { FairScheduler } from './fair-scheduler.ts';

/** What a connection needs of the admission that it belongs to. */
export interface ConnectionHost {
  readonly clock: MonotonicClock;
  readonly scheduler: FairScheduler;
  readonly buffers: Buffers;
  readonly headersTimeoutMs: number;
  /** Whether there is time and room to read what a client still sends after its last answer. */
  mayLinger(connection: ClientConnection): boolean;
  /** Counts a refusal, and may close all connections of the address for it. */
  refused(connection: ClientConnection, reason: RefusalReason): void;
  /** Shuts the address out for what no client does that means well. */
  offended(connection: ClientConnection, reason: RefusalReason): void;
  /** Tells of an error of the node while it read what a client sent, and counts it. */
  failed(connection: ClientConnection, error: unknown): void;
}

/**
 * - `unread`: of a stranger, not read at all before its turn
 * - `arriving`: nothing of a request has come, or a part of its head; before TLS is agreed on, nothing of that either
 * - `waiting`: a request has come and waits for its turn
 * - `answering`: a request is at work, its body may be on its way
 * - `reading`: the answer is made, the client has not read it yet
 * - `idle`: between two requests
 * - `lingering`: the last answer is sent; what still comes is thrown away
 */
type Phase = 'unread' | 'arriving' | 'waiting' | 'answering' | 'reading' | 'idle' | 'lingering';

export class ClientConnection implements Place, Holder {
  readonly key: string;
  readonly isTrusted: boolean;
  bufferedBytes = 0;
  readonly #host: ConnectionHost;
  readonly #arrived: Socket;
  readonly #gate = new RequestGate();
  /** What is read and written: the connection itself, or the TLS above it. */
  #socket: Socket;
  #phase: Phase = 'arriving';
  #phaseStartMs: number;
  /** Whether the socket is not read; so it comes from the listener. */
  #isPaused = true;
  #isPassing = false;
  #lingeredBytes = 0;
  #parse: (chunk: Buffer) => void = () => undefined;

  /** @param socket not read yet, and paused */
  constructor(socket: Socket, key: string, isTrusted: boolean, host: ConnectionHost) {
    this.#arrived = socket;
    this.#socket = socket;
    this.key = key;
    this.isTrusted = isTrusted;
    this.#host = host;
    this.#phaseStartMs = host.clock.nowMs();
  }

  get isIdle(): boolean {
    return this.#phase === 'unread' || this.#phase === 'arriving' || this.#phase === 'idle';
  }

  get isLingering(): boolean {
    return this.#phase === 'lingering';
  }

  /**
   * Gives the connection a parser. One of a stranger costs next to nothing before it says something: only then, and in its turn, it
   * gets one.
   *
   * @param socket the connection itself, or the TLS above it
   * @param takeOver makes a server of node:http listen to the socket
   */
  serve(socket: Socket, takeOver: (socket: Socket) => void): void {
    this.#socket = socket;
    if (this.isTrusted) {
      this.#guard(takeOver);
      return this.#settle();
    }
    const forget = this.#destroyOnEnd();
    this.#readFirst(() => {
      this.#enter('arriving');
      this.#guard(takeOver);
      // The end of the socket and its errors are the server's business from here on.
      forget();
      this.#letThrough();
    });
  }

  /** Answers the first bytes that come, whatever they say, and ends. */
  refuseAll(socket: Socket, answer: Buffer, reason: RefusalReason): void {
    this.#socket = socket;
    this.#destroyOnEnd();
    this.#readFirst(() => {
      socket.on('data', (chunk: Buffer) => this.#discard(chunk));
      this.end(answer);
      this.#host.refused(this, reason);
    });
  }

  /** A request was read up to its body. Until it is answered, nothing else is read but its body, if that is wanted. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#gate.begin(request);
    this.#enter('answering');
    response.on('finish', () => this.#finish());
    // Nobody looks at how long a trusted client reads, and at what it is sent.
    if (this.isTrusted) return;
    response.on('prefinish', () => {
      this.#enter('reading');
      this.#account();
    });
  }

  /** The body of the request at work may be read. @param start begins the work, once the body is here or can be read on the way */
  acceptBody(start: () => void): void {
    this.#gate.acceptBody(start);
    if (!this.#isPassing) this.#letThrough();
  }

  /** Does what follows from a request. An error in it ends this connection: what a client sends never ends the node. */
  contain(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.destroy();
      this.#host.failed(this, error);
    }
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
    this.#gate.clear();
    this.#socket.destroy();
    this.#arrived.destroy();
  }

  /** Frees everything that the connection held, once it is gone. */
  closed(): void {
    this.#gate.clear();
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
      case 'unread':
      case 'waiting':
        return spentMs > REQUEST_TIMEOUT_MS ? this.destroy() : undefined;
      case 'answering':
        if (spentMs > REQUEST_TIMEOUT_MS && this.#gate.isBodyMissing) {
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

  /** Stands between the socket and the parser that listens to it. */
  #guard(takeOver: (socket: Socket) => void): void {
    const socket = this.#socket;
    socket.setNoDelay(true);
    // Listening must not begin to read.
    socket.pause();
    takeOver(socket);
    // The one listener is the parser's. Another one beside it makes node:http read through listeners and not beneath them.
    const [parse] = socket.listeners('data') as ((chunk: Buffer) => void)[];
    if (parse === undefined) throw new Error('node:http does not listen to its socket');
    this.#parse = parse;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.removeListener('data', parse);
    // Where node:http would end the connection after an answer, unread bytes of the request would reset it.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      if (this.#gate.heldBytes > 0 || this.#gate.isIncomplete) this.#linger();
      else destroySoon();
    };
  }

  /** While nobody else listens to the socket. @returns ends that */
  #destroyOnEnd(): () => void {
    const socket = this.#socket;
    const leave = (): void => void socket.destroy();
    socket.on('error', leave);
    socket.on('end', leave);
    return () => {
      socket.off('error', leave);
      socket.off('end', leave);
    };
  }

  /**
   * Reads a stranger's connection for the first time, in its turn: before that, what it sends stays in the kernel. Where nothing
   * has come by then it is read when something comes, which then waits for another turn.
   */
  #readFirst(work: () => void): void {
    const socket = this.#socket;
    this.#enter('unread');
    const look = (): void => {
      if (socket.destroyed) return;
      const chunk = socket.read() as Buffer | null;
      if (chunk !== null) {
        this.#take(chunk);
        return work();
      }
      this.#enter('arriving');
      socket.once('data', (late: Buffer) => {
        socket.pause();
        this.#take(late);
        this.#enter('waiting');
        this.#account();
        this.#schedule(work);
      });
      socket.resume();
    };
    this.#host.scheduler.take(this.key, look, () => void socket.read(0));
  }

  #receive(chunk: Buffer): void {
    if (this.#phase === 'lingering') return this.#discard(chunk);
    this.#take(chunk);
    if (this.#phase === 'idle') this.#enter('arriving');
    if (this.#gate.isOverfull) return this.#offend();
    if (this.#phase === 'waiting' || this.#isOnTop) this.#settle();
    else this.#letThroughInTurn();
  }

  #take(chunk: Buffer): void {
    this.#gate.add(chunk);
    if (!this.isTrusted) this.#host.scheduler.spend(chunk.length * READ_MS_PER_BYTE);
  }

  /** Whether what is held comes on top of a request at work. */
  get #isOnTop(): boolean {
    return this.#gate.isBusy && !this.#gate.isBodyMissing;
  }

  #offend(): void {
    this.destroy();
    this.#host.offended(this, 'pipelined');
  }

  #letThroughInTurn(): void {
    if (this.isTrusted) return this.#letThrough();
    const before = this.#phase;
    this.#phase = 'waiting';
    const restoreTimeout = this.#stopTimeout();
    this.#schedule(() => {
      this.#phase = before;
      restoreTimeout();
      this.#letThrough();
    });
    this.#settle();
  }

  /**
   * While what came waits for its turn, the parser takes the connection for an idle one and would close it: `checkTime` bounds
   * the wait.
   */
  #stopTimeout(): () => void {
    const { timeout = 0 } = this.#socket;
    this.#socket.setTimeout(0);
    return () => this.#socket.setTimeout(timeout);
  }

  #schedule(work: () => void): void {
    if (this.isTrusted) return work();
    this.#host.scheduler.take(this.key, () => {
      if (!this.#socket.destroyed && this.#phase === 'waiting') work();
    });
  }

  /** Gives the parser the rest of one request, as far as it is here and wanted. */
  #letThrough(): void {
    this.#isPassing = true;
    this.contain(() => this.#passOn());
    this.#isPassing = false;
    if (this.#gate.isOverfull) return this.#offend();
    this.#settle();
  }

  #passOn(): void {
    while (!this.#socket.destroyed && !this.isLingering) {
      this.#gate.takeStart()?.();
      // The parser refuses to be given a request while an answer waits to be sent.
      if (!this.#gate.isBusy && this.#socket.writableNeedDrain) return this.#passOnWhenSent();
      const chunk = this.#gate.next();
      if (chunk === undefined) return;
      this.#parse(chunk);
    }
  }

  #passOnWhenSent(): void {
    this.#socket.once('drain', () => {
      if (this.#phase === 'arriving' && !this.#isPassing) this.#letThroughInTurn();
    });
  }

  /** The answer has left the process. */
  #finish(): void {
    const { isIncomplete } = this.#gate;
    this.#gate.finish();
    if (this.isLingering || this.#socket.destroyed) return;
    if (isIncomplete) return this.#linger();
    const isMoreHere = this.#gate.heldBytes > 0;
    this.#enter(isMoreHere ? 'arriving' : 'idle');
    if (isMoreHere) this.#letThroughInTurn();
    else this.#settle();
  }

  /** Stops reading while what came waits: the rest waits in the kernel, and at the client. */
  #settle(): void {
    const mustWait = this.#gate.heldBytes > 0 && (this.#phase === 'waiting' || this.#isOnTop);
    if (mustWait !== this.#isPaused && !this.isLingering) {
      this.#isPaused = mustWait;
      if (mustWait) this.#socket.pause();
      else this.#socket.resume();
    }
    this.#account();
  }

  /**
   * Ends the connection behind its last answer. A client that is still sending may lose that answer, as the system resets a
   * connection that is closed unread: while there is time, it is read on for a while.
   */
  #linger(): void {
    this.#gate.clear();
    if (!this.#host.mayLinger(this)) return this.destroy();
    this.#enter('lingering');
    this.#account();
    this.#socket.end();
    this.#socket.resume();
  }

  /** Reads on for a client that is still sending, within bounds; more than that it may keep. */
  #discard(chunk: Buffer): void {
    this.#lingeredBytes += chunk.length;
    if (!this.isTrusted) this.#host.scheduler.spend(chunk.length * READ_MS_PER_BYTE);
    if (this.#lingeredBytes > LINGER_BYTES_MAX) this.#socket.pause();
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#phaseStartMs = this.#host.clock.nowMs();
  }

  /** Counts the bytes that the node holds for this connection: input, a request body, an answer that is not read yet. */
  #account(): void {
    if (this.isTrusted) return;
    const { readableLength, writableLength } = this.#socket;
    this.#host.buffers.hold(this, INPUT_WEIGHT * (this.#gate.bytes + readableLength) + writableLength);
  }
}
