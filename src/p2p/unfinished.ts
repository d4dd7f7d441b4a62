/**
 * Messages that have begun and not come to their end. They lie in memory and nobody has seen them: they count in no rate, and
 * the heartbeat gives a peer that says nothing else twenty seconds.
 *
 * A block of three megabytes comes from all that have it at the same time, so many large messages are nothing wrong: they take
 * turns. A few are taken at a time; the others wait in their lines until one has ended. A line loses its turn only where others
 * wait for it: when next to nothing comes on it, or when it takes so long that the heartbeat of those that wait would end them;
 * then the slowest goes first.
 *
 * A line that loses its turn is held and has another one after all others: it may be a slow line of an honest node, and what its
 * peer sends meanwhile gathers in the socket. What is held so lies in memory, so it is bounded, and the line that loses a second
 * turn, or finds no room, ends. Otherwise lines that bring a byte now and then would have turns for ever.
 */

import type { Clock, Timer } from '../ports/clock.ts';
import { FRAME_BYTES_MAX } from './packets.ts';

/** Large messages that are taken at a time. */
export const TURNS_MAX = 8;
/** A message with fewer bytes so far waits for nobody: more than blocks and transactions usually have. */
export const BYTES_FREE = 64_000;
/** Bytes that a socket may hand over in one chunk before it can be told to wait. */
const PIECE_BYTES_MAX = 65_536;
/** What memory a chunk takes that brings a single byte. */
const PIECE_BYTES_MIN = 512;
/** Of one message: the largest there is, a quarter of it in small chunks. */
const MESSAGE_BYTES_MAX = 1.25 * FRAME_BYTES_MAX;
/** Of all lines together that have lost a turn and wait for another one: two of the largest messages, or many that just began. */
const HELD_BYTES_MAX = 2 * MESSAGE_BYTES_MAX;
/** How often it is looked whether a line has lost its turn, while others wait. */
const LOOK_MS = 1_000;
/** Bytes from one look to the next below which a line is slow: a block of three megabytes would take three minutes. */
const SLOW_BYTES = 16_000;
/** Slow looks in a row after which a line loses its turn: longer than most losses have a line stand still. */
const SLOW_LOOKS_MAX = 3;
/**
 * Looks that a turn may last; then one line in each look loses it, the slowest first. The heartbeat ends a connection whose message
 * takes longer than 20 s, and the one that waits must have time to bring its own.
 */
const TURN_LOOKS_MAX = 8;

/**
 * What all messages together take, of so many lines that others opened. The chunk that ends a message may bring the head of the
 * next one, which is not counted, and the last chunk comes before the line waits: a line has two chunks beyond what is free.
 */
export function unfinishedBytesMax(lines: number): number {
  return TURNS_MAX * MESSAGE_BYTES_MAX + HELD_BYTES_MAX + lines * (BYTES_FREE + 2 * PIECE_BYTES_MAX);
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
  /** Of this turn. */
  turnBytes: number;
  turnLooks: number;
  /** Since the last look. */
  lookBytes: number;
  slowLooks: number;
  hasLostTurn: boolean;
  /** Its part of `HELD_BYTES_MAX`. */
  heldBytes: number;
  readonly control: LineControl;
}

/** @typeParam L what stands for a connection */
export class UnfinishedMessages<L> {
  readonly #clock: Pick<Clock, 'after'>;
  /** In the order in which they began. */
  readonly #begun = new Map<L, Begun>();
  #turns = 0;
  #waiting = 0;
  #heldBytes = 0;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Bytes came in. */
  arrived(line: L, bytes: number, control: LineControl): void {
    let begun = this.#begun.get(line);
    if (begun === undefined) {
      begun = newlyBegun(control);
      this.#begun.set(line, begun);
    }
    begun.bytes += Math.max(bytes, PIECE_BYTES_MIN);
    begun.turnBytes += bytes;
    begun.lookBytes += bytes;
    if (begun.bytes > MESSAGE_BYTES_MAX) this.#giveUp(line, begun);
    else if (begun.state === 'small' && begun.bytes > BYTES_FREE) this.#line(begun);
  }

  /** The message is whole, or its connection closed. */
  ended(line: L): void {
    const begun = this.#begun.get(line);
    if (begun === undefined) return;
    this.#begun.delete(line);
    if (begun.state === 'waiting') {
      this.#leaveQueue(begun);
      begun.control.release();
    } else if (begun.state === 'turn') {
      this.#turns -= 1;
      this.#next();
    }
    if (this.#waiting === 0) this.#rest();
  }

  #line(begun: Begun): void {
    if (this.#turns < TURNS_MAX) this.#begin(begun);
    else this.#wait(begun);
  }

  #begin(begun: Begun): void {
    begun.state = 'turn';
    begun.turnBytes = begun.turnLooks = begun.lookBytes = begun.slowLooks = 0;
    this.#turns += 1;
  }

  #wait(begun: Begun): void {
    begun.state = 'waiting';
    this.#waiting += 1;
    begun.control.hold();
    this.#timer ??= this.#clock.after(LOOK_MS, () => this.#look());
  }

  #leaveQueue(begun: Begun): void {
    this.#waiting -= 1;
    this.#heldBytes -= begun.heldBytes;
    begun.heldBytes = 0;
  }

  /** The turn goes to the one that began first; those that have lost one come after all others. */
  #next(): void {
    if (this.#waiting === 0) return;
    let next: Begun | undefined;
    for (const begun of this.#begun.values()) {
      if (begun.state !== 'waiting') continue;
      if (next === undefined || (next.hasLostTurn && !begun.hasLostTurn)) next = begun;
    }
    if (next === undefined) return;
    this.#leaveQueue(next);
    this.#begin(next);
    next.control.release();
  }

  /** Looks are counted, not time: after a moment in which the process stood still, what came meanwhile is read before the next. */
  #look(): void {
    this.#timer = undefined;
    const turns = [...this.#begun].filter(([, { state }]) => state === 'turn');
    for (const [, begun] of turns) {
      begun.turnLooks += 1;
      begun.slowLooks = begun.lookBytes < SLOW_BYTES ? begun.slowLooks + 1 : 0;
      begun.lookBytes = 0;
    }
    turns.sort(([, one], [, other]) => paceOf(one) - paceOf(other));
    const slow = turns.filter(([, { slowLooks }]) => slowLooks > SLOW_LOOKS_MAX);
    const long = turns.find(([, { turnLooks }]) => turnLooks > TURN_LOOKS_MAX);
    const losing = slow.length === 0 && long !== undefined ? [long] : slow;
    // One makes room for one: those that lose their turn now wait as well.
    for (const [line, begun] of losing.slice(0, this.#waiting)) this.#loseTurn(line, begun);
    if (this.#waiting > 0) this.#timer ??= this.#clock.after(LOOK_MS, () => this.#look());
  }

  #loseTurn(line: L, begun: Begun): void {
    if (begun.hasLostTurn || this.#heldBytes + begun.bytes > HELD_BYTES_MAX) {
      this.#giveUp(line, begun);
      return;
    }
    begun.hasLostTurn = true;
    begun.heldBytes = begun.bytes;
    this.#heldBytes += begun.bytes;
    // Behind those that have lost a turn before.
    this.#begun.delete(line);
    this.#begun.set(line, begun);
    this.#turns -= 1;
    this.#wait(begun);
    this.#next();
  }

  /** Nobody waits: turns are as if they had just begun, but for lines that do not move. */
  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const begun of this.#begun.values()) if (begun.slowLooks === 0) begun.turnBytes = begun.turnLooks = 0;
  }

  #giveUp(line: L, { control }: Begun): void {
    this.ended(line);
    control.giveUp();
  }
}

function newlyBegun(control: LineControl): Begun {
  const counts = { bytes: 0, turnBytes: 0, turnLooks: 0, lookBytes: 0, slowLooks: 0, heldBytes: 0 };
  return { ...counts, state: 'small', hasLostTurn: false, control };
}

/** Bytes in each look of a turn. */
function paceOf({ turnBytes, turnLooks }: Begun): number {
  return turnBytes / Math.max(1, turnLooks);
}
