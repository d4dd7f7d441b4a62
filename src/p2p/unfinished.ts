/**
 * Messages that have begun and not come to their end. They lie in memory and nobody has seen them: they count in no rate, and
 * the heartbeat gives a peer that says nothing else twenty seconds.
 *
 * A block of three megabytes comes from all that have it at the same time, so many large messages are nothing wrong: they take
 * turns. A few are taken at a time; the others wait in their lines until one has ended. A line loses its turn, and ends, only where
 * others wait for it: when nothing comes on it, or when it takes longer than the heartbeat gives it.
 */

import type { Clock, Timer } from '../ports/clock.ts';
import { FRAME_BYTES_MAX } from './packets.ts';

/** Large messages that are taken at a time. */
export const TURNS_MAX = 8;
/** A message with fewer bytes so far waits for nobody: more than blocks and transactions usually have. */
export const BYTES_FREE = 64_000;
/** What a socket may hand over in one piece before it can be told to wait. */
const PIECE_BYTES_MAX = 65_536;
/** What memory a piece takes that brings a single byte. */
const PIECE_BYTES_MIN = 512;
/** Of one message: the largest there is, a quarter of it in small pieces. */
const MESSAGE_BYTES_MAX = 1.25 * FRAME_BYTES_MAX;
/** How often it is looked whether a line has lost its turn, while others wait. */
const LOOK_MS = 1_000;
/** Looks in a row without a byte that end a line: longer than a line with losses stands still. */
const STILL_LOOKS_MAX = 5;
/** Looks that a turn may last: the heartbeat ends a connection whose message takes longer than 20 s. */
const TURN_LOOKS_MAX = 20;

/** What all messages together take, of so many lines that others opened. */
export function unfinishedBytesMax(lines: number): number {
  return TURNS_MAX * MESSAGE_BYTES_MAX + lines * (BYTES_FREE + PIECE_BYTES_MAX);
}

export interface LineControl {
  /** Nothing more is to be taken off the wire. */
  hold(): void;
  release(): void;
  /** Ends the connection. */
  giveUp(): void;
}

interface Begun {
  bytes: number;
  /** Small messages need no turn. */
  state: 'small' | 'waiting' | 'turn';
  turnLooks: number;
  stillLooks: number;
  readonly control: LineControl;
}

/** @typeParam L what stands for a connection */
export class UnfinishedMessages<L> {
  readonly #clock: Pick<Clock, 'after'>;
  /** In the order in which they began. */
  readonly #begun = new Map<L, Begun>();
  #turns = 0;
  #waiting = 0;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Bytes came in. */
  arrived(line: L, bytes: number, control: LineControl): void {
    let begun = this.#begun.get(line);
    if (begun === undefined) {
      begun = { bytes: 0, state: 'small', turnLooks: 0, stillLooks: 0, control };
      this.#begun.set(line, begun);
    }
    begun.bytes += Math.max(bytes, PIECE_BYTES_MIN);
    begun.stillLooks = 0;
    if (begun.bytes > MESSAGE_BYTES_MAX) this.#giveUp(line, begun);
    else if (begun.state === 'small' && begun.bytes > BYTES_FREE) this.#line(begun);
  }

  /** The message is whole, or its connection closed. */
  ended(line: L): void {
    const begun = this.#begun.get(line);
    if (begun === undefined) return;
    this.#begun.delete(line);
    if (begun.state === 'waiting') {
      this.#waiting -= 1;
      begun.control.release();
    } else if (begun.state === 'turn') {
      this.#turns -= 1;
      this.#next();
    }
    if (this.#waiting === 0) this.#rest();
  }

  #line(begun: Begun): void {
    if (this.#turns < TURNS_MAX) {
      begun.state = 'turn';
      this.#turns += 1;
      return;
    }
    begun.state = 'waiting';
    this.#waiting += 1;
    begun.control.hold();
    this.#timer ??= this.#clock.after(LOOK_MS, () => this.#look());
  }

  /** The turn goes to the one that began first. */
  #next(): void {
    if (this.#waiting === 0) return;
    for (const begun of this.#begun.values()) {
      if (begun.state !== 'waiting') continue;
      this.#waiting -= 1;
      begun.state = 'turn';
      this.#turns += 1;
      begun.control.release();
      return;
    }
  }

  /** Looks are counted, not time: after a moment in which the process stood still, what came meanwhile is read before the next. */
  #look(): void {
    this.#timer = undefined;
    for (const [line, begun] of this.#begun) {
      if (begun.state !== 'turn') continue;
      begun.turnLooks += 1;
      begun.stillLooks += 1;
      if (this.#waiting === 0) continue;
      if (begun.stillLooks > STILL_LOOKS_MAX || begun.turnLooks > TURN_LOOKS_MAX) this.#giveUp(line, begun);
    }
    if (this.#waiting > 0) this.#timer = this.#clock.after(LOOK_MS, () => this.#look());
  }

  /** Nobody waits: turns are as if they had just begun. */
  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const begun of this.#begun.values()) begun.turnLooks = begun.stillLooks = 0;
  }

  #giveUp(line: L, { control }: Begun): void {
    this.ended(line);
    control.giveUp();
  }
}
