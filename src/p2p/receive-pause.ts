/**
 * Applies backpressure to a connection. While the node does not read, the peer's bytes stay in the buffers of the TCP
 * connection. Several parts of the node can pause a connection at the same time. Reading continues when no part pauses
 * the connection.
 */

import type { Clock, Timer } from '../ports/clock.ts';

/** The members of a WebSocket that pause and resume reading. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

export class ReceivePause {
  readonly #webSocket: Pausable;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  /** Unix time in milliseconds at which all pauses that `waitFor` has started are over. */
  #untilMs = 0;
  #isHeld = false;

  constructor(webSocket: Pausable, clock: Clock) {
    this.#webSocket = webSocket;
    this.#clock = clock;
  }

  /** Pauses reading for at least `pauseMs` milliseconds from now. If `pauseMs` is 0, the method does nothing. */
  waitFor(pauseMs: number): void {
    if (pauseMs <= 0) return;
    const untilMs = this.#clock.nowMs() + pauseMs;
    if (this.#timer !== undefined && untilMs <= this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#timer?.cancel();
    this.#webSocket.pause();
    this.#timer = this.#clock.after(pauseMs, () => {
      this.#timer = undefined;
      this.#goOn();
    });
  }

  /** Pauses reading at least until `release` is called. */
  hold(): void {
    this.#isHeld = true;
    this.#webSocket.pause();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#goOn();
  }

  /** Ends all pauses of a closed connection, but does not resume reading. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isHeld = false;
  }

  #goOn(): void {
    if (this.#timer === undefined && !this.#isHeld) this.#webSocket.resume();
  }
}
