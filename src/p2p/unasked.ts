/**
 * What is read of a peer, and how fast its bytes are taken off the wire. A frame must be read to its end before it shows what it
 * is, so each counts by its size: answers against the questions that are open, all else against budgets of the peer and of all
 * peers together. A frame that a budget has no room for is dropped alone, at no cost to its sender: honest nodes pass on blocks of
 * three megabytes, and a delegate decides how many. Bytes that come faster than any honest node sends wait in the line
 * (backpressure).
 *
 * What reading costs: a frame weighs its bytes and 8 for each array and object beyond 50,000. One of the heaviest weighs 15 MB and
 * takes up to 0.5 s and 130 MB of memory, which garbage collection frees.
 */

import { FRAME_BYTES_MAX } from './packets.ts';
import { ByteBucket, type ByteRate } from './rate.ts';

/** Frames up to this weight share no budget with heavier ones: a heavy block never mutes its sender. */
export const SMALL_WEIGHT_MAX = 256_000;
/** Small frames of a peer: 25 transactions of 4 kB in each second, and those of a line that stood still. */
export const SMALL_OF_PEER: ByteRate = { capacity: 4_000_000, perSecond: 400_000 };
/** Of all peers together; beyond, each has its reserve. */
export const SMALL_OF_CROWD: ByteRate = { capacity: 8_000_000, perSecond: 2_400_000 };
const SMALL_RESERVE: ByteRate = { capacity: 256_000, perSecond: 25_600 };
/** Heavy frames of a peer: two of the heaviest blocks at once, then one in seven seconds. */
const HEAVY_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 2_000_000 };
/** Of all peers together: one of the heaviest blocks in four seconds. A block that is dropped comes by synchronisation. */
export const HEAVY_OF_CROWD: ByteRate = { capacity: 3_000_000, perSecond: 4_000_000 };
/** Peers that we dialled are read beyond it: those that dial us cannot use up what the blocks of our own choice need. */
const HEAVY_RESERVE = 16_000_000;
/** Heavy answers of pools and peer lists, of all peers: each peer can make us ask it every five seconds. */
const HEAVY_ANSWERS_OF_CROWD: ByteRate = { capacity: 3_000_000, perSecond: 2_000_000 };
/** Bytes taken off the wire beyond answers, whether they are read or not; a peer that sends faster waits. */
export const ARRIVING_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 4_000_000 };
/** Of all peers; beyond, those wait that send large frames. */
const ARRIVING_OF_CROWD: ByteRate = { capacity: 64_000_000, perSecond: 32_000_000 };
/** A line stands still for so long at most: heartbeats end one that is silent for 20 s. */
const PAUSE_MS_MAX = 5_000;
/** Text of messages that were read and not worked on yet, all peers together. */
export const CROWD_BYTES_MAX = SMALL_OF_CROWD.capacity + HEAVY_RESERVE;

/** What a question is for: blocks are asked of one peer and its helpers, all else of any peer. */
export type AskedFor = 'blocks' | 'other';

/** What all peers together have sent. */
export class UnaskedCrowd {
  readonly small = new ByteBucket(SMALL_OF_CROWD);
  readonly heavy = new ByteBucket(HEAVY_OF_CROWD);
  readonly heavyAnswers = new ByteBucket(HEAVY_ANSWERS_OF_CROWD);
  readonly arriving = new ByteBucket(ARRIVING_OF_CROWD);
}

export class UnaskedBytes {
  readonly #crowd: UnaskedCrowd;
  readonly #heavyFloor: number;
  readonly #small = new ByteBucket(SMALL_OF_PEER);
  readonly #reserve = new ByteBucket(SMALL_RESERVE);
  readonly #heavy = new ByteBucket(HEAVY_OF_PEER);
  readonly #arriving = new ByteBucket(ARRIVING_OF_PEER);
  readonly #rooms: Readonly<Record<AskedFor, AnswerRoom>> = { blocks: new AnswerRoom(), other: new AnswerRoom() };
  /** Of answers to all open questions, as bytes on the wire. */
  readonly #arrivingRoom = new AnswerRoom();

  /** @param isDialled of a peer that we chose */
  constructor(crowd = new UnaskedCrowd(), isDialled = false) {
    this.#crowd = crowd;
    this.#heavyFloor = isDialled ? -HEAVY_RESERVE : 0;
  }

  /** The peer was asked something. @param answerBytes what the answer may have */
  asked(answerBytes = FRAME_BYTES_MAX, what: AskedFor = 'blocks'): void {
    this.#rooms[what].open(answerBytes);
    this.#arrivingRoom.open(answerBytes);
  }

  /** A question was answered, or is not waited for any more. */
  settled(answerBytes = FRAME_BYTES_MAX, what: AskedFor = 'blocks'): void {
    this.#rooms[what].close(answerBytes);
    this.#arrivingRoom.close(answerBytes);
  }

  /** Counts bytes that came in. @returns milliseconds for which nothing more is to be taken off the wire */
  arrived(bytes: number, nowMs: number): number {
    const unasked = this.#arrivingRoom.take(bytes);
    this.#arriving.take(unasked, nowMs);
    this.#crowd.arriving.take(unasked, nowMs);
    const crowdMs = unasked > SMALL_WEIGHT_MAX ? this.#crowd.arriving.debtMs(nowMs) : 0;
    return Math.min(PAUSE_MS_MAX, Math.max(this.#arriving.debtMs(nowMs), crowdMs));
  }

  /**
   * Whether a frame is read, and counts it if so.
   *
   * @param containerBytes what it weighs besides its bytes; only asked for where it matters
   */
  mayRead(bytes: number, containerBytes: () => number, nowMs: number): boolean {
    if (this.#rooms.blocks.covers(bytes)) {
      this.#rooms.blocks.take(bytes);
      return true;
    }
    const isAnswer = this.#rooms.other.covers(bytes);
    if (isAnswer) this.#rooms.other.take(bytes);
    else if (bytes > SMALL_WEIGHT_MAX && !this.#hasHeavy(nowMs)) return false;
    const weight = bytes + containerBytes();
    if (weight <= SMALL_WEIGHT_MAX) return isAnswer || this.#readSmall(weight, nowMs);
    if (isAnswer) {
      if (this.#crowd.heavyAnswers.debtMs(nowMs) > 0) return false;
      this.#crowd.heavyAnswers.take(weight, nowMs);
      return true;
    }
    if (!this.#hasHeavy(nowMs)) return false;
    this.#heavy.take(weight, nowMs);
    this.#crowd.heavy.take(weight, nowMs);
    return true;
  }

  #hasHeavy(nowMs: number): boolean {
    return this.#heavy.level(nowMs) > 0 && this.#crowd.heavy.level(nowMs) > this.#heavyFloor;
  }

  #readSmall(weight: number, nowMs: number): boolean {
    if (this.#small.level(nowMs) < weight) return false;
    if (this.#crowd.small.level(nowMs) >= weight) this.#crowd.small.take(weight, nowMs);
    else if (this.#reserve.level(nowMs) >= weight) this.#reserve.take(weight, nowMs);
    else return false;
    this.#small.take(weight, nowMs);
    return true;
  }
}

/** Bytes that may still come as answers. */
class AnswerRoom {
  /** Bytes that the answers to all open questions may have. */
  #open = 0;
  #left = 0;

  open(bytes: number): void {
    this.#open += bytes;
    this.#left += bytes;
  }

  close(bytes: number): void {
    this.#open -= bytes;
    this.#left = Math.min(this.#left, this.#open);
  }

  /** Whether a frame may be an answer. Small ones of another kind may have come before it and taken some of its room. */
  covers(bytes: number): boolean {
    return this.#left > 0 && bytes <= this.#left + SMALL_WEIGHT_MAX;
  }

  /** @returns bytes beyond the room */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.#left);
    this.#left -= taken;
    return bytes - taken;
  }
}
