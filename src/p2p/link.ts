/** One WebSocket under the message layer, the same to both ends of it. */

import type { WebSocket } from 'ws';

import { ProtocolError, messageOf } from '../primitives/errors.ts';
import type { CloseReason } from '../ports/transport.ts';
import type { Outgoing } from './dialect.ts';
import type { FrameFilter } from './frame-filter.ts';
import { type LibrarySocket, takeCallId } from './socket-cluster.ts';
import type { AskedFor } from './unsolicited-bytes.ts';

/** Unsent bytes that a peer may leave standing before it counts as too slow: a few of the largest messages. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;
/** Unsent bytes of all peers together; where there are more, those with more than a few kilobytes of them are let go. */
export const UNSENT_BYTES_TOTAL_MAX = 24 * 1024 * 1024;
const UNSENT_BYTES_FREE = 256 * 1024;
/** A close frame holds 125 bytes, two of them for the code. */
const CLOSE_REASON_BYTES_MAX = 123;

export interface LinkEvents {
  called(event: string, data: unknown, answer: Answer): void;
  emitted(event: string, data: unknown): void;
  closed(reason: CloseReason): void;
}

export interface Answer {
  end(data: unknown): void;
  fail(error: { readonly message: string; readonly name?: string }): void;
}

export class Link {
  readonly filter: FrameFilter;
  /** Settles when the connection ends, with the reason. */
  readonly over: Promise<CloseReason>;
  /** Settles when the WebSocket is closed, which may be a little later. */
  readonly gone: Promise<void>;
  readonly #socket: LibrarySocket;
  readonly #webSocket: WebSocket;
  #on: LinkEvents | undefined;
  #unsentOfAll: () => number = () => 0;
  #ended: CloseReason | undefined;
  #settleOver: (reason: CloseReason) => void = () => undefined;

  constructor(socket: LibrarySocket, webSocket: WebSocket, filter: FrameFilter) {
    this.over = new Promise((settle) => {
      this.#settleOver = settle;
    });
    this.#socket = socket;
    this.#webSocket = webSocket;
    this.filter = filter;
    let failure = '';
    webSocket.on('error', (error) => {
      failure = error.message;
    });
    this.gone = new Promise((settle) => {
      webSocket.once('close', (code, reason) => {
        this.#end({ code, reason: reason.length > 0 ? reason.toString() : failure });
        settle();
      });
    });
    // The library closes on time-outs of its own, long before the socket does.
    void this.#awaitLibraryClose();
  }

  /** The reason for the end of the connection; undefined while it is open. */
  get ended(): CloseReason | undefined {
    return this.#ended;
  }

  /** Bytes that the peer has not taken yet. */
  get unsentBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Lets the link know what all peers together have not taken. */
  joinCrowd(unsentOfAll: () => number): void {
    this.#unsentOfAll = unsentOfAll;
  }

  /** Starts handing over what comes in. Must run before the first frame can arrive. */
  listen(on: LinkEvents, events: readonly string[]): void {
    this.#on = on;
    for (const event of ['rpc-request', 'ping']) void this.#serveCalls(event, on);
    for (const event of events) void this.#serveEvents(event, on);
  }

  /**
   * Sends a call and waits for its answer.
   *
   * @param answerBytes what the peer may send for it beyond what it may send unsolicited; a frame unless told
   * @param what the answer is for; blocks unless told
   * @throws ProtocolError `CALL_FAILED`
   */
  async call(outgoing: Outgoing, timeoutMs: number, answerBytes?: number, what?: AskedFor): Promise<unknown> {
    this.#refuseWhenClosed();
    this.filter.unsolicited.asked(answerBytes, what);
    try {
      return await this.#socket.invoke(outgoing.event, outgoing.data, { ackTimeout: timeoutMs });
    } catch (error) {
      throw new ProtocolError('CALL_FAILED', { reason: messageOf(error) }, messageOf(error), { cause: error });
    } finally {
      this.filter.unsolicited.settled(answerBytes, what);
    }
  }

  /** Sends a one-way event; nothing happens on a connection that has ended. */
  emit(outgoing: Outgoing): void {
    if (this.#writable()) void this.#socket.transmit(outgoing.event, outgoing.data);
  }

  /**
   * Sends on an accepted connection whose handshake is not answered yet. A call takes its number from the library, so that
   * its answer, which nobody waits for, is not taken for that of a later one.
   */
  sendEarly({ event, data, call }: Outgoing): void {
    const frame = call ? { event, data, cid: takeCallId(this.#socket) } : { event, data };
    this.#socket.send(JSON.stringify(frame));
  }

  /**
   * Closes as the reference does: code and reason in a frame of their own, then the close frame.
   *
   * @param body travels instead of the reason text
   */
  close(reason: CloseReason, body?: object): void {
    if (this.#ended !== undefined) return;
    this.filter.close();
    if (this.#webSocket.readyState === this.#webSocket.OPEN) {
      const data = { code: reason.code, data: body ?? reason.reason };
      this.#webSocket.send(JSON.stringify({ event: '#disconnect', data }));
    }
    void this.#socket.disconnect(reason.code, truncated(reason.reason));
    this.#end(reason);
  }

  /** Cuts the line without a word: what is left of the received bytes is not even looked at. */
  terminate(reason: CloseReason): void {
    this.filter.close();
    this.#webSocket.removeAllListeners('message');
    this.#webSocket.terminate();
    this.#end(reason);
  }

  #writable(): boolean {
    if (this.#ended !== undefined || this.#socket.state !== 'open') return false;
    const unsent = this.unsentBytes;
    if (unsent <= UNSENT_BYTES_FREE) return true;
    if (unsent <= UNSENT_BYTES_MAX && this.#unsentOfAll() <= UNSENT_BYTES_TOTAL_MAX) return true;
    this.terminate({ code: 1006, reason: 'Peer reads too slowly' });
    return false;
  }

  #refuseWhenClosed(): void {
    // The library's client would dial again to send on a closed connection.
    if (!this.#writable()) throw new ProtocolError('CALL_FAILED', { reason: 'closed' }, 'The connection is closed');
  }

  #end(reason: CloseReason): void {
    if (this.#ended !== undefined) return;
    this.filter.close();
    this.#ended = this.filter.farewell ?? reason;
    this.#on?.closed(this.#ended);
    this.#settleOver(this.#ended);
  }

  async #awaitLibraryClose(): Promise<void> {
    const { code, reason } = await this.#socket.listener('close').once();
    this.#end({ code, reason: reason ?? '' });
  }

  async #serveCalls(event: string, on: LinkEvents): Promise<void> {
    for await (const call of this.#socket.procedure(event)) {
      on.called(event, call.data, {
        end: (data) => {
          if (this.#writable()) call.end(data);
        },
        fail: (error) => {
          if (this.#writable()) call.error(error);
        },
      });
    }
  }

  async #serveEvents(event: string, on: LinkEvents): Promise<void> {
    for await (const data of this.#socket.receiver(event)) on.emitted(event, data);
  }
}

/** Cuts a text to what a close frame holds without breaking a character. */
function truncated(reason: string): string {
  let text = reason.slice(0, CLOSE_REASON_BYTES_MAX);
  while (Buffer.byteLength(text) > CLOSE_REASON_BYTES_MAX) text = text.slice(0, -1);
  return text;
}
