/**
 * Limits messages that have begun to arrive and have not ended. Unfinished messages take memory. The rate limits do not
 * bound this memory, because they count a message only when it is complete. The heartbeat does not bound this memory
 * either, because it ends a connection only after twenty seconds without a complete message.
 *
 * Many peers may send a block of three megabytes at the same time, so it is normal that many large messages arrive
 * together. A message of more than `BYTES_FREE` bytes is large. Large messages take turns: at most `TURNS_MAX` of them
 * have a turn at a time. This node pauses the connections of all other large messages until a turn ends. A connection
 * loses its turn only while other connections wait. The connection loses its turn if it is slow (`SLOW_BYTES`) at more
 * than `SLOW_LOOKS_MAX` checks in a row, or if the turn lasts more than `TURN_LOOKS_MAX` checks. If several turns last
 * too long, the slowest connection loses its turn first.
 *
 * A connection that loses its turn may be the slow connection of an honest node. This node therefore pauses the
 * connection instead of closing it. Waiting connections that have not lost a turn get a turn first. During the pause,
 * the bytes that the peer sends stay in the buffers of the TCP connection. The parts of messages that arrived before
 * the pause take memory, so `HELD_BYTES_MAX` limits their sum. This node closes a connection if its part of a message
 * would make the sum exceed this limit. This node also closes a connection that loses a second turn with the same
 * message. Without this rule, connections that send only a few bytes would get turns forever.
 */

import type { Clock, Timer } from '../ports/clock.ts';
import { FRAME_BYTES_MAX } from './frame-validation.ts';

/** Maximum number of large messages that this node receives at a time. */
export const TURNS_MAX = 8;
/** Size up to which an unfinished message needs no turn. Most blocks and transactions are smaller. */
export const BYTES_FREE = 64_000;
/**
 * Maximum number of bytes in one chunk that a socket delivers. The node can pause the socket only between two chunks.
 */
const PIECE_BYTES_MAX = 65_536;
/** A chunk counts as at least this number of bytes, because even a chunk of a single byte takes this much memory. */
const PIECE_BYTES_MIN = 512;
/** Maximum number of bytes for one message: the largest message, plus a quarter for the memory of small chunks. */
const MESSAGE_BYTES_MAX = 1.25 * FRAME_BYTES_MAX;
/**
 * Maximum number of bytes in all unfinished messages whose connections have lost a turn and wait for another turn. The
 * maximum has room for two of the largest messages, or for many messages that have just begun.
 */
const HELD_BYTES_MAX = 2 * MESSAGE_BYTES_MAX;
/** Time in milliseconds between two checks of the turns while connections wait. */
const LOOK_MS = 1_000;
/**
 * A connection is slow if it delivers fewer than 16,000 bytes between two checks. At this speed, a block of three
 * megabytes would take three minutes.
 */
const SLOW_BYTES = 16_000;
/**
 * Maximum number of checks in a row at which a connection may be slow. A connection that is also slow at the next
 * check loses its turn, if other connections wait. Most connections recover from packet loss within these checks.
 */
const SLOW_LOOKS_MAX = 3;
/**
 * Number of checks that a turn may last while other connections wait. At each check, only the slowest connection above
 * this limit loses its turn. A check that ends a turn because of `SLOW_LOOKS_MAX` ends no turn because of this limit. A
 * waiting connection must have time for its own message, before the heartbeat ends the connection after 20 s without a
 * complete message.
 */
const TURN_LOOKS_MAX = 8;

/**
 * Maximum memory in bytes that all unfinished messages of this number of connections take together. For each
 * connection, two chunks count in addition to `BYTES_FREE`. The first is the chunk that ends a message, because it may
 * contain the uncounted beginning of another message. The second is the chunk that arrives before the connection
 * pauses.
 */
export function unfinishedBytesMax(connections: number): number {
  return TURNS_MAX * MESSAGE_BYTES_MAX + HELD_BYTES_MAX + connections * (BYTES_FREE + 2 * PIECE_BYTES_MAX);
}

export interface ConnectionControl {
  /** Pauses reading from the connection. */
  hold(): void;
  release(): void;
  /** Ends the connection. */
  giveUp(): void;
}

interface Begun {
  bytes: number;
  /** A message is `small` until it has more than `BYTES_FREE` bytes. A small message needs no turn. */
  state: 'small' | 'waiting' | 'turn';
  /** Bytes that arrived since the turn began, or since `#rest` set this counter to 0. */
  turnBytes: number;
  turnLooks: number;
  /** Bytes since the last check. */
  lookBytes: number;
  slowLooks: number;
  hasLostTurn: boolean;
  /** Bytes of this connection that count towards `HELD_BYTES_MAX`. */
  heldBytes: number;
  readonly control: ConnectionControl;
}

/** @typeParam C identifies a connection */
export class UnfinishedMessages<C> {
  readonly #clock: Pick<Clock, 'after'>;
  /** Unfinished messages in the order in which they began. A message that loses its turn moves to the end. */
  readonly #begun = new Map<C, Begun>();
  #turns = 0;
  #waiting = 0;
  #heldBytes = 0;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /**
   * Counts bytes that arrived on a connection. A message that becomes large gets a turn, or its connection is paused. A
   * connection whose message becomes too large ends.
   */
  arrived(connection: C, bytes: number, control: ConnectionControl): void {
    let begun = this.#begun.get(connection);
    if (begun === undefined) {
      begun = newlyBegun(control);
      this.#begun.set(connection, begun);
    }
    begun.bytes += Math.max(bytes, PIECE_BYTES_MIN);
    begun.turnBytes += bytes;
    begun.lookBytes += bytes;
    if (begun.bytes > MESSAGE_BYTES_MAX) this.#giveUp(connection, begun);
    else if (begun.state === 'small' && begun.bytes > BYTES_FREE) this.#beginOrWait(begun);
  }

  /** Forgets the unfinished message of a connection, because the message is complete or the connection has closed. */
  ended(connection: C): void {
    const begun = this.#begun.get(connection);
    if (begun === undefined) return;
    this.#begun.delete(connection);
    if (begun.state === 'waiting') {
      this.#leaveQueue(begun);
      begun.control.release();
    } else if (begun.state === 'turn') {
      this.#turns -= 1;
      this.#next();
    }
    if (this.#waiting === 0) this.#rest();
  }

  #beginOrWait(begun: Begun): void {
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

  /**
   * Gives a free turn to the waiting message that began first. Messages that have lost a turn come after all other
   * waiting messages.
   */
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

  /**
   * Checks the turns. The length of a turn is a number of checks, not a time. A suspension of the process therefore
   * adds only one check, even if the suspension is long.
   */
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
    // The number of waiting connections is read before the loop, because each connection that loses its turn joins the
    // waiting connections.
    for (const [connection, begun] of losing.slice(0, this.#waiting)) this.#loseTurn(connection, begun);
    if (this.#waiting > 0) this.#timer ??= this.#clock.after(LOOK_MS, () => this.#look());
  }

  #loseTurn(connection: C, begun: Begun): void {
    if (begun.hasLostTurn || this.#heldBytes + begun.bytes > HELD_BYTES_MAX) {
      this.#giveUp(connection, begun);
      return;
    }
    begun.hasLostTurn = true;
    begun.heldBytes = begun.bytes;
    this.#heldBytes += begun.bytes;
    // Moves the connection to the end of `#begun`, behind connections that lost a turn earlier.
    this.#begun.delete(connection);
    this.#begun.set(connection, begun);
    this.#turns -= 1;
    this.#wait(begun);
    this.#next();
  }

  /**
   * Called when no connection waits. Sets the counters of each turn (`turnBytes` and `turnLooks`) to 0. A connection
   * that was slow at the last check keeps its counters, so it loses its turn sooner when other connections wait again.
   */
  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const begun of this.#begun.values()) if (begun.slowLooks === 0) begun.turnBytes = begun.turnLooks = 0;
  }

  #giveUp(connection: C, { control }: Begun): void {
    this.ended(connection);
    control.giveUp();
  }
}

function newlyBegun(control: ConnectionControl): Begun {
  const counts = { bytes: 0, turnBytes: 0, turnLooks: 0, lookBytes: 0, slowLooks: 0, heldBytes: 0 };
  return { ...counts, state: 'small', hasLostTurn: false, control };
}

/** Average number of bytes that arrived between two checks during the present turn. */
function paceOf({ turnBytes, turnLooks }: Begun): number {
  return turnBytes / Math.max(1, turnLooks);
}
