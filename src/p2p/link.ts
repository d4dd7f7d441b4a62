/**
 * Wraps one connection: the socket of the SocketCluster library, and the WebSocket below it. Inbound and outbound
 * connections have the same interface.
 */

import type { WebSocket } from 'ws';

import { ProtocolError, messageOf } from '../primitives/errors.ts';
import type { CloseReason } from '../ports/transport.ts';
import type { Outgoing } from './dialect.ts';
import type { FrameFilter } from './frame-filter.ts';
import { type LibrarySocket, takeCallId } from './socket-cluster.ts';
import type { RequestKind } from './unsolicited-bytes.ts';

/**
 * Maximum number of unsent bytes for one peer: room for two messages of the largest size. A peer with more unsent
 * bytes reads too slowly. The node sends no further message, call or answer to this peer, but disconnects the peer
 * instead.
 */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Maximum number of unsent bytes of all peers together. Above this maximum, the node sends no message, call or answer
 * to a peer with more than `UNSENT_BYTES_FREE` unsent bytes. If the node has something to send to such a peer, it
 * disconnects the peer instead.
 */
export const UNSENT_BYTES_TOTAL_MAX = 24 * 1024 * 1024;
const UNSENT_BYTES_FREE = 256 * 1024;
/** A WebSocket close frame has room for 125 bytes, and two of these bytes are the code. */
const CLOSE_REASON_BYTES_MAX = 123;

export interface LinkEvents {
  called(event: string, data: unknown, answer: Answer): void;
  emitted(event: string, data: unknown): void;
  closed(reason: CloseReason): void;
  /** Called before the connection is ended because of an error of this node in the handling of a frame. */
  failed(error: unknown): void;
}

export interface Answer {
  end(data: unknown): void;
  fail(error: { readonly message: string; readonly name?: string }): void;
}

export class Link {
  readonly filter: FrameFilter;
  /** Resolves with the reason when the connection ends. */
  readonly over: Promise<CloseReason>;
  /**
   * Resolves when the WebSocket is closed. `over` resolves at the same time or earlier: when this node treats the
   * connection as ended, for example after a timeout of the heartbeat.
   */
  readonly gone: Promise<void>;
  readonly #socket: LibrarySocket;
  readonly #webSocket: WebSocket;
  #on: LinkEvents | undefined;
  #unsentOfAll: () => number = () => 0;
  #ended: CloseReason | undefined;
  #hasFailed = false;
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
    // After a timeout of the heartbeat, the library reports the end of the connection immediately. The WebSocket
    // reports the end later, after the close frame of the peer, or after `CLOSE_TIMEOUT_MS` (`socket-cluster.ts`).
    void this.#awaitLibraryClose();
  }

  /** The reason for the end of the connection; undefined until the connection ends. */
  get ended(): CloseReason | undefined {
    return this.#ended;
  }

  /** Number of sent bytes that are still in this process, because the operating system has not accepted them yet. */
  get unsentBytes(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Gives the link a function that returns the unsent bytes of all peers together (see `UNSENT_BYTES_TOTAL_MAX`). */
  shareLimit(unsentOfAll: () => number): void {
    this.#unsentOfAll = unsentOfAll;
  }

  /**
   * Starts to pass received calls and one-way events to the handlers `on`. The caller must call this method before the
   * first call or event can arrive.
   */
  listen(on: LinkEvents, events: readonly string[]): void {
    this.#on = on;
    for (const event of ['rpc-request', 'ping']) void this.#serveCalls(event, on);
    for (const event of events) void this.#serveEvents(event, on);
  }

  /**
   * Sends a call and waits for its answer.
   *
   * @param answerBytes maximum size of the answer in bytes; `FRAME_BYTES_MAX` by default. A larger answer counts as
   *   unsolicited bytes
   * @param what kind of the request; `blocks` by default
   * @throws ProtocolError `CALL_FAILED` in five cases: the connection is not open, the connection ends before the
   *   answer arrives, the peer reads too slowly, the peer answers with an error, or no answer arrives within
   *   `timeoutMs`
   */
  async call(outgoing: Outgoing, timeoutMs: number, answerBytes?: number, what?: RequestKind): Promise<unknown> {
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

  /**
   * Sends a one-way event. Sends nothing if the connection is not open. If the peer reads too slowly, the method does
   * not send the event, and ends the connection.
   */
  emit(outgoing: Outgoing): void {
    if (this.#writable()) void this.#socket.transmit(outgoing.event, outgoing.data);
  }

  /**
   * Sends a message on an accepted connection before the answer to the peer's handshake. If the message is a call, the
   * number of the call (`cid`) comes from the library, so that no later call has the same number.
   */
  sendEarly({ event, data, call }: Outgoing): void {
    const frame = call ? { event, data, cid: takeCallId(this.#socket) } : { event, data };
    this.#socket.send(JSON.stringify(frame));
  }

  /**
   * Closes the connection as a node of lisk-sdk does: sends the event `#disconnect` with code and reason, then a
   * WebSocket close frame.
   *
   * @param body object that the event `#disconnect` contains instead of the reason text
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

  /**
   * Ends the connection immediately, without a close frame. Drops all received messages that the node has not handled.
   */
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
    // The library's client would dial again if a call were sent on a closed connection.
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
      const answer: Answer = {
        end: (data) => {
          if (this.#writable()) call.end(data);
        },
        fail: (error) => {
          if (this.#writable()) call.error(error);
        },
      };
      this.#attempt(() => on.called(event, call.data, answer), on);
    }
  }

  async #serveEvents(event: string, on: LinkEvents): Promise<void> {
    for await (const data of this.#socket.receiver(event)) this.#attempt(() => on.emitted(event, data), on);
  }

  /**
   * Runs `work`, which handles a frame. An uncaught error would end the node, so an error ends only this connection.
   * After an error, the method drops all further frames of the connection.
   */
  #attempt(work: () => void, on: LinkEvents): void {
    if (this.#hasFailed) return;
    try {
      work();
    } catch (error) {
      this.#hasFailed = true;
      on.failed(error);
      this.terminate({ code: 1006, reason: 'Internal error' });
    }
  }
}

/**
 * Truncates a text so that its UTF-8 bytes fit into a close frame. If the cut separates the two halves of a surrogate
 * pair, the remaining half is sent as U+FFFD.
 */
function truncated(reason: string): string {
  let text = reason.slice(0, CLOSE_REASON_BYTES_MAX);
  while (Buffer.byteLength(text) > CLOSE_REASON_BYTES_MAX) text = text.slice(0, -1);
  return text;
}
