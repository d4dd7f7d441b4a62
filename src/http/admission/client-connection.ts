/**
 * Manages a client's connection from its acceptance to its end. This class decides when the node reads from the
 * connection, how long each phase (`ConnectionPhase`) is allowed to last, and how the connection ends. A gate
 * (`request-gate.ts`) between the socket and the parser of node:http passes on the bytes of one request at a time. The
 * next request is parsed only when the answer to the previous request has left the process. One read from the socket
 * can contain thousands of requests. Without the gate, node:http would parse all these requests before it answers the
 * first one.
 *
 * A stranger is a client that is not trusted. The node reads nothing from a stranger's connection before the fair
 * scheduler (`fair-scheduler.ts`) gives the connection its first turn. The gate forwards the body of a request only
 * after the node has accepted the body (`acceptBody`). If the node answers a request without reading the body, the
 * connection ends after the answer.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MonotonicClock } from '../monotonic-clock.ts';
import type { Buffers, Holder } from './buffers.ts';
import type { ConnectionPhase } from './connection-phase.ts';
import type { CountedConnection } from './connections.ts';
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
import { closeUnlessBodyIsRead, RequestGate } from './request-gate.ts';
import { destroyOnEnd, interceptParser, suspendTimeout, type Parser } from './socket-parser.ts';
import type { FairScheduler } from './fair-scheduler.ts';

/** The part of the admission that a connection uses. */
export interface ConnectionHost {
  readonly clock: MonotonicClock;
  readonly scheduler: FairScheduler;
  readonly buffers: Buffers;
  readonly headersTimeoutMs: number;
  /**
   * True if the connection stays open after the last answer, so that the node can read and discard further input.
   * Always true for a trusted client. For a stranger (a client that is not trusted), the result is false in two cases:
   * many tasks of strangers wait (`FairScheduler.isPressed`), or `LINGERING_MAX` connections of strangers already stay
   * open in this way.
   */
  mayLinger(connection: ClientConnection): boolean;
  /**
   * Counts a refusal. After too many refusals of a stranger (an untrusted client), the node closes the connections of
   * the stranger's address, and refuses new connections of this address for a time (`SHUT_OUT_MS`).
   */
  refused(connection: ClientConnection, reason: RefusalReason): void;
  /**
   * Counts a refusal for behaviour that no correct client shows. If the address is not trusted, shuts the address out.
   */
  refuseAndShutOut(connection: ClientConnection, reason: RefusalReason): void;
  /** Counts an error that occurred while the node handled the input of a client. Logs at most one error a minute. */
  failed(connection: ClientConnection, error: unknown): void;
}

export class ClientConnection implements CountedConnection, Holder {
  readonly key: string;
  readonly isTrusted: boolean;
  bufferedBytes = 0;
  readonly #host: ConnectionHost;
  readonly #arrived: Socket;
  readonly #gate = new RequestGate();
  /** The socket for reading and writing: the TCP socket of the connection, or the TLS socket above the TCP socket. */
  #socket: Socket;
  #phase: ConnectionPhase = 'arriving';
  #phaseStartMs: number;
  /**
   * True if `#settle` has paused the socket. The first value is true, because the socket is already paused when
   * `#settle` first runs.
   */
  #isPaused = true;
  #isPassing = false;
  #lingeredBytes = 0;
  #parser: Parser | undefined;

  /** @param socket paused socket from which nothing was read */
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
   * Gives the connection its parser. The connection of a stranger (an untrusted client) gets the parser only when its
   * first bytes have arrived and the scheduler (`FairScheduler`) gives the connection a turn. A silent connection
   * therefore costs almost nothing.
   *
   * @param socket the TCP socket of the connection, or the TLS socket above the TCP socket
   * @param takeOver passes the socket to a server of node:http, as if the server had accepted the connection
   */
  serve(socket: Socket, takeOver: (socket: Socket) => void): void {
    this.#socket = socket;
    if (this.isTrusted) {
      this.#guard(takeOver);
      return this.#settle();
    }
    const forget = destroyOnEnd(socket);
    this.#readFirst(() => {
      this.#enter('arriving');
      this.#guard(takeOver);
      // From here on, node:http handles the end and the errors of the socket.
      forget();
      this.#letThrough();
    });
  }

  /** Answers the first bytes of the client with a refusal, whatever these bytes contain, and ends the connection. */
  refuseAll(socket: Socket, answer: Buffer, reason: RefusalReason): void {
    this.#socket = socket;
    destroyOnEnd(socket);
    this.#readFirst(() => {
      socket.on('data', (chunk: Buffer) => this.#discard(chunk));
      this.end(answer);
      this.#host.refused(this, reason);
    });
  }

  /**
   * Called when the head of a request was read. Until the answer is sent, the parser gets only the body of this
   * request, and only if the route takes a body.
   */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#gate.begin(request);
    this.#enter('answering');
    closeUnlessBodyIsRead(request, response);
    response.on('finish', () => this.#finish());
    // For a trusted client, the node limits neither the size of an answer nor the time in which the client reads the
    // answer.
    if (this.isTrusted) return;
    response.on('prefinish', () => {
      this.#enter('reading');
      this.#account();
    });
  }

  /**
   * Allows the gate to pass on the body of the request that began last.
   *
   * @param start starts the handler. If the body has a stated length, `start` is called when the whole body has
   *   arrived. If the body is chunked, `start` is called immediately
   */
  acceptBody(start: () => void): void {
    this.#gate.acceptBody(start);
    if (!this.#isPassing) this.#letThrough();
  }

  /**
   * Runs `work` for this connection. If `work` throws an error, only the connection is closed. Without this method,
   * input of a client could end the node.
   */
  contain(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.destroy();
      this.#host.failed(this, error);
    }
  }

  /** Sends the last answer and ends the connection. */
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

  /** Frees the memory of a closed connection. */
  closed(): void {
    this.#gate.clear();
    this.#host.buffers.hold(this, 0);
  }

  /** Ends the connection if its present phase takes longer than allowed. */
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
      // In the phase `idle`, node:http closes the connection after its idle timeout.
    }
  }

  /** Puts the gate between the socket and its parser. */
  #guard(takeOver: (socket: Socket) => void): void {
    const socket = this.#socket;
    this.#parser = interceptParser(socket, takeOver, {
      parse: (chunk) => this.#receive(chunk),
      end: () => this.#endWhenAnswered(),
    });
    // When node:http ends the connection after an answer, some bytes of the request can still be unread. If the node
    // closed the socket immediately, the operating system would reset the connection, and the client could lose the
    // answer.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      if (this.#gate.heldBytes > 0 || this.#gate.isIncomplete) this.#linger();
      else destroySoon();
    };
  }

  /**
   * Reads the connection of a stranger (an untrusted client) for the first time, when the scheduler (`FairScheduler`)
   * gives the connection a turn. Until this turn, the received bytes stay in the kernel. If no bytes have arrived when
   * the turn comes, the connection gets a later turn after its first bytes have arrived.
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

  /**
   * True if newly received bytes must wait. New bytes must wait while the node answers a request and needs no more
   * bytes of this request. In this case, the new bytes belong to a later request, or to a body that the node has not
   * accepted.
   */
  get #isOnTop(): boolean {
    return this.#gate.isBusy && !this.#gate.isBodyMissing;
  }

  #offend(): void {
    this.destroy();
    this.#host.refuseAndShutOut(this, 'pipelined');
  }

  #letThroughInTurn(): void {
    if (this.isTrusted) return this.#letThrough();
    const before = this.#phase;
    this.#phase = 'waiting';
    // Without this call, node:http would treat the connection as idle and close it while its input waits. `checkTime`
    // limits this wait instead.
    const restoreTimeout = suspendTimeout(this.#socket);
    this.#schedule(() => {
      this.#phase = before;
      restoreTimeout();
      this.#letThrough();
    });
    this.#settle();
  }

  #schedule(work: () => void): void {
    if (this.isTrusted) return work();
    this.#host.scheduler.take(this.key, () => {
      if (!this.#socket.destroyed && this.#phase === 'waiting') work();
    });
  }

  /** Passes to the parser those received bytes that the gate allows to pass now. */
  #letThrough(): void {
    this.#isPassing = true;
    this.contain(() => this.#passOn());
    this.#isPassing = false;
    if (this.#gate.isOverfull) return this.#offend();
    this.#settle();
    this.#endWhenAnswered();
  }

  #passOn(): void {
    while (!this.#socket.destroyed && !this.isLingering) {
      this.#gate.takeStart()?.();
      // The parser of node:http does not accept bytes while an answer waits to be sent.
      if (!this.#gate.isBusy && this.#socket.writableNeedDrain) return this.#passOnWhenSent();
      const chunk = this.#gate.next();
      if (chunk === undefined) return;
      this.#parser?.parse(chunk);
    }
  }

  #passOnWhenSent(): void {
    this.#socket.once('drain', () => {
      if (this.#phase === 'arriving' && !this.#isPassing) this.#letThroughInTurn();
    });
  }

  /** Called when the answer has left the process. */
  #finish(): void {
    const { isIncomplete } = this.#gate;
    this.#gate.finish();
    if (this.isLingering || this.#socket.destroyed) return;
    if (isIncomplete) return this.#linger();
    const isMoreHere = this.#gate.heldBytes > 0;
    this.#enter(isMoreHere ? 'arriving' : 'idle');
    if (isMoreHere) this.#letThroughInTurn();
    else this.#settle();
    this.#endWhenAnswered();
  }

  /**
   * Ends the connection if the client has ended its side of the connection and all complete requests of the client are
   * answered.
   */
  #endWhenAnswered(): void {
    const { readableEnded, writableEnded, writableNeedDrain } = this.#socket;
    const waitsToPass = this.#gate.heldBytes > 0 && (this.#phase === 'waiting' || writableNeedDrain);
    if (readableEnded && !writableEnded && !this.#isOnTop && !waitsToPass) this.#parser?.end();
  }

  /**
   * Pauses the socket while received bytes wait for the parser, so that further bytes wait in the kernel and at the
   * client.
   */
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
   * Ends the connection after its last answer. If unread input remained, the operating system would reset the
   * connection, and the client could lose the answer. Therefore, if `mayLinger` is true, the node reads and discards
   * further input for a limited time (`LINGER_MS`).
   */
  #linger(): void {
    this.#gate.clear();
    if (!this.#host.mayLinger(this)) return this.destroy();
    this.#enter('lingering');
    this.#account();
    this.#socket.end();
    this.#socket.resume();
  }

  /**
   * Discards input of a client that is still sending. After `LINGER_BYTES_MAX` discarded bytes, the node stops reading
   * from the connection.
   */
  #discard(chunk: Buffer): void {
    this.#lingeredBytes += chunk.length;
    if (!this.isTrusted) this.#host.scheduler.spend(chunk.length * READ_MS_PER_BYTE);
    if (this.#lingeredBytes > LINGER_BYTES_MAX) this.#socket.pause();
  }

  #enter(phase: ConnectionPhase): void {
    this.#phase = phase;
    this.#phaseStartMs = this.#host.clock.nowMs();
  }

  /**
   * Updates the number of bytes that the node holds for the connection of a stranger (an untrusted client). The number
   * is the unsent bytes of the answer, plus `INPUT_WEIGHT` times the bytes of input. When the node has accepted a body
   * with a stated length, this length counts as input, even before the body arrives. When the node has accepted a body
   * without a stated length, `BODY_BYTES_MAX` bytes count in addition to the held bytes (`RequestGate.bytes`).
   */
  #account(): void {
    if (this.isTrusted) return;
    const { readableLength, writableLength } = this.#socket;
    this.#host.buffers.hold(this, INPUT_WEIGHT * (this.#gate.bytes + readableLength) + writableLength);
  }
}
