/**
 * Limits the memory that unfinished messages take. A message is unfinished if it has begun to arrive and has not ended.
 * The rate limits do not bound this memory, because they count a message only when it is complete. The heartbeat does
 * not bound this memory either, because it ends a connection only after twenty seconds without a complete message.
 *
 * Many peers can send a block of three megabytes at the same time, so it is normal that many large messages arrive
 * together. A message of more than `BYTES_FREE` bytes is large. Large messages take turns. The node receives only the
 * large messages that have a turn, and at most `TURNS_MAX` large messages have a turn at the same time. This node
 * pauses the connections of all other large messages until a turn ends. A turn ends when the message is complete, or
 * when the connection of the message loses the turn. A connection loses its turn only while other connections wait, and
 * only in two cases. Either the connection is slow (`SLOW_BYTES`) at more than `SLOW_LOOKS_MAX` checks in a row, or the
 * turn lasts more than `TURN_LOOKS_MAX` checks. If several turns last too long, the slowest connection loses its turn
 * first.
 *
 * A connection that loses its turn can be the slow connection of an honest node. This node therefore pauses such a
 * connection instead of closing it. In two cases, this node closes the connection instead of pausing it. First, this
 * node closes the connection if the received part of its message would make the sum of such parts exceed
 * `HELD_BYTES_MAX`. Second, this node closes a connection that loses a second turn with the same message. Without the
 * second case, connections that send only a few bytes would get turns forever. Among the waiting connections, those
 * that have not lost a turn get a turn first. The parts of messages that arrived before the pause take memory, so
 * `HELD_BYTES_MAX` limits their sum. The bytes that the peer sends during the pause stay in the buffers of the TCP
 * connection.
 */

import type { Clock, Timer } from '../ports/clock.ts';
import { FRAME_BYTES_MAX } from './frame-validation.ts';

/** Maximum number of large messages that this node receives at a time. */
export const TURNS_MAX = 8;
/**
 * Maximum size in bytes of an unfinished message that needs no turn. A turn is the permission to deliver the rest of a
 * larger message; at most `TURNS_MAX` messages have a turn at the same time. Most messages with blocks or transactions
 * are smaller than this maximum.
 */
export const BYTES_FREE = 64_000;
/**
 * Maximum number of bytes in one chunk that a socket delivers. The node can pause the socket only between two chunks.
 */
const PIECE_BYTES_MAX = 65_536;
/** A chunk counts as at least this number of bytes, because even a chunk of a single byte takes this much memory. */
const PIECE_BYTES_MIN = 512;
/**
 * Maximum number of counted bytes of one message. The node closes the connection if the count exceeds this maximum. The
 * maximum is the size of the largest message plus a quarter, because a small chunk counts as more bytes than it
 * contains (`PIECE_BYTES_MIN`).
 */
const MESSAGE_BYTES_MAX = 1.25 * FRAME_BYTES_MAX;
/**
 * Maximum number of bytes in all unfinished messages whose connections have lost a turn and wait for a new turn. The
 * maximum has room for two of the largest messages, or for many messages that have just begun.
 */
const HELD_BYTES_MAX = 2 * MESSAGE_BYTES_MAX;
/**
 * Time in milliseconds between two checks of the turns (a turn is the permission to deliver the rest of a large
 * message). At each check, this node decides whether connections must lose their turns. This node makes checks only
 * while connections wait for a turn.
 */
const LOOK_MS = 1_000;
/**
 * A connection is slow if it delivers fewer than 16,000 bytes between two consecutive checks of the turns (`LOOK_MS`).
 * At this speed, a block of three megabytes would take three minutes.
 */
const SLOW_BYTES = 16_000;
/**
 * Maximum number of checks in a row (one check every `LOOK_MS`) at which a connection with a turn is allowed to be
 * slow. A turn is the permission to deliver the rest of a large message. A connection is slow at a check if it has
 * delivered fewer than `SLOW_BYTES` since the check before. If the connection is also slow at the check directly after
 * this number of slow checks, and other connections wait, the connection loses its turn. Most connections recover from
 * packet loss within this number of checks.
 */
const SLOW_LOOKS_MAX = 3;
/**
 * Maximum number of checks (one check every `LOOK_MS`) that a turn is allowed to last while other connections wait. A
 * turn is the permission to deliver the rest of a large message. If a check finds several turns that have lasted longer
 * than this maximum, only the slowest of their connections loses its turn. If connections lose their turns at a check
 * because of `SLOW_LOOKS_MAX`, no connection loses its turn at this check because of `TURN_LOOKS_MAX`. Turns have a
 * limit because a waiting connection needs time for its own message: the heartbeat ends a connection after 20 s without
 * a complete message.
 */
const TURN_LOOKS_MAX = 8;

/**
 * Returns the maximum memory, in bytes, that all unfinished messages take together. The argument `connections` is the
 * number of open connections. For each connection, the function adds `BYTES_FREE` and the size of two chunks. One of
 * the two is the chunk that ends a message. This chunk can also contain the beginning of another message, and the node
 * does not count this beginning. The second of the two is the last chunk that arrives before the connection pauses.
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
  /** Number of bytes that have arrived since the turn began, or since `#rest` last set this counter to 0. */
  turnBytes: number;
  turnLooks: number;
  /**
   * Number of bytes that have arrived since the last check. If the turn began after the last check, only the bytes
   * since the beginning of the turn count.
   */
  lookBytes: number;
  slowLooks: number;
  hasLostTurn: boolean;
  /**
   * Number of bytes of this connection that count towards `HELD_BYTES_MAX`. The number is above 0 only while two
   * conditions hold: the connection has lost its turn, and it waits for a new turn.
   */
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
   * Counts bytes that have arrived on a connection. When the message of the connection becomes larger than
   * `BYTES_FREE`, the message needs a turn (the permission to deliver the rest of the message). If fewer than
   * `TURNS_MAX` messages have a turn, the message gets a turn. If `TURNS_MAX` messages have a turn, the method pauses
   * the connection. If the message exceeds `MESSAGE_BYTES_MAX`, the method closes the connection.
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

  /**
   * Forgets the unfinished message of a connection. Called when the message is complete or the connection has closed.
   */
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
   * Gives a free turn to a waiting message. Messages that have not lost a turn come first, in the order in which they
   * began. The messages that have lost a turn follow, in the order in which they lost the turn.
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
   * Checks whether connections must lose their turns. The length of a turn is a number of checks, not a time. A
   * suspension of the process therefore adds only one check, even if the suspension is long.
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
   * Called when no connection waits. If the connection of a turn was not slow at the last check, the method sets the
   * counters of the turn (`turnBytes` and `turnLooks`) to 0. A connection that was slow keeps its counters, so it loses
   * its turn sooner when other connections wait again.
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

/**
 * Returns the average number of bytes that have arrived from one check to the next, since the turn began or since
 * `#rest` last set the counters `turnBytes` and `turnLooks` to 0.
 */
function paceOf({ turnBytes, turnLooks }: Begun): number {
  return turnBytes / Math.max(1, turnLooks);
}
