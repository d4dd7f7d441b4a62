/**
 * Backpressure on a line: what a peer has sent stays in it while nothing is taken off the wire. Several parts of the node may have a
 * line wait at the same time; it goes on when none of them does.
 */

import type { Clock, Timer } from '../ports/clock.ts';

/** What of a WebSocket stops and goes on with taking bytes off the wire. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

export class ReceivePause {
  readonly #webSocket: Pausable;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  /** When the time is over that was asked for last of all, Unix time in milliseconds. */
  #untilMs = 0;
  #isHeld = false;

  constructor(webSocket: Pausable, clock: Clock) {
    this.#webSocket = webSocket;
    this.#clock = clock;
  }

  /** Has the line wait for so many milliseconds from now at least. Nothing for 0. */
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

  /** Has the line wait until it is released. */
  hold(): void {
    this.#isHeld = true;
    this.#webSocket.pause();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#goOn();
  }

  /** The line is gone. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isHeld = false;
  }

  #goOn(): void {
    if (this.#timer === undefined && !this.#isHeld) this.#webSocket.resume();
  }
}
