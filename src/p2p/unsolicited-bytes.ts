/**
 * What is read of a peer, and how fast its bytes are taken off the wire. A frame must be read to its end before it shows what it
 * is, so each counts by its size: one answer against each question that is open, all else against budgets of the peer and of all
 * peers together. A frame that a budget has no room for is dropped alone, at no cost to its sender: honest nodes pass on blocks of
 * three megabytes, and a delegate decides how many. Bytes that come faster than any honest node sends wait in the line
 * (backpressure). A line that brings more small frames than honest nodes can be made to send is closed; large ones cannot be told
 * from the blocks that honest nodes pass on, cost nothing when they are dropped, and wait.
 *
 * Nodes write the number of the question first, so the head of a frame tells whether it may be an answer (`seemsAnswer`). One that
 * lies takes the place of the answer, and the filter drops it if it turns out to be an event.
 *
 * What reading costs: a frame weighs its bytes and 8 for each array and object beyond 50,000. One of the heaviest weighs 15 MB and
 * takes up to 0.5 s and 130 MB of memory, which garbage collection frees.
 */

import { FRAME_BYTES_MAX } from './packets.ts';
import { ByteBucket, type ByteRate, RateWindow } from './rate.ts';

/** Frames up to this weight share no budget with heavier ones: a heavy block never mutes its sender. */
export const SMALL_WEIGHT_MAX = 256_000;
/** Small frames of a peer: 25 transactions of 4 kB in each second, and those of a line that stood still. */
export const SMALL_OF_PEER: ByteRate = { capacity: 4_000_000, perSecond: 400_000 };
/** Of all peers together; beyond, each has its reserve. */
export const SMALL_OF_CROWD: ByteRate = { capacity: 8_000_000, perSecond: 2_400_000 };
const SMALL_RESERVE: ByteRate = { capacity: 256_000, perSecond: 25_600 };
/** No frame weighs more; a bucket that may owe as much has the heaviest paid for in full. */
const HEAVIEST = 16_000_000;
/** Heavy frames of a peer: two of the heaviest blocks at once, then one in seven seconds. */
const HEAVY_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 2_000_000 };
/** Peers that we dialled are read beyond what all may: those that dial us cannot use up what the blocks of our own choice need. */
const HEAVY_RESERVE = HEAVIEST;
/** Of all peers together: one of the heaviest blocks in four seconds. A block that is dropped comes by synchronisation. */
const HEAVY_OF_CROWD: ByteRate = { capacity: 3_000_000, perSecond: 4_000_000, debtMax: HEAVY_RESERVE };
/** Heavy answers of pools and peer lists, of all peers: each peer can make us ask it every five seconds. */
export const HEAVY_ANSWERS_OF_CROWD: ByteRate = { capacity: 3_000_000, perSecond: 2_000_000, debtMax: HEAVIEST };
/** Bytes taken off the wire beyond answers, whether they are read or not; a peer that sends faster waits. */
export const ARRIVING_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 4_000_000 };
/** Of all peers; beyond, those wait that send large frames or more than their share. */
export const ARRIVING_OF_CROWD: ByteRate = { capacity: 64_000_000, perSecond: 32_000_000 };
/** Of a peer in any size of frames, as a part of what is taken of all: a hundred and twenty-eight of them have all of it. */
export const ARRIVING_SHARE: ByteRate = { capacity: 1_000_000, perSecond: 250_000 };
/**
 * Small frames beyond the budget of a peer, as bytes in `FLOOD_WINDOW_MS`, for which its line is closed, at no cost to its address.
 * An honest node can be made to send as much as strangers have it pass on: in a minute, after a line that stood still,
 * 100 blocks and 91 messages each of transactions and signatures (`ports/rates.ts`). If all of them were as large as small frames
 * are, they would have 72 MB; this is half as much again. At the pace of `ARRIVING_OF_PEER` a flood has it after half a minute.
 *
 * Lines that flood at the same time slow each other down, so each of them brings less in a minute. Therefore the window of a
 * line beyond its budget goes on while all peers together send more than this node takes off the wire. Forty such lines are
 * closed within five minutes. From eighty on (`ARRIVING_OF_CROWD` by the rate of `SMALL_OF_PEER`), each brings no more than its
 * budget, and waits.
 */
export const FLOOD_BYTES_MAX = 108_000_000;
export const FLOOD_WINDOW_MS = 60_000;
/** A line stands still for so long at most: heartbeats end one that is silent for 20 s. */
const PAUSE_MS_MAX = 5_000;
/**
 * Text of messages that may be read at once and is not worked on yet, of so many lines: what all of them may have together, the
 * reserve of each, and heavy frames and heavy answers, which may each overdraw their budget by one. Answers with blocks are counted
 * where they are kept (`engine/sync/download.ts`).
 */
export function readAtOnceBytesMax(lines: number): number {
  const small = SMALL_OF_CROWD.capacity + lines * SMALL_RESERVE.capacity;
  const heavy = HEAVY_OF_CROWD.capacity + HEAVY_RESERVE + FRAME_BYTES_MAX;
  return small + heavy + HEAVY_ANSWERS_OF_CROWD.capacity + FRAME_BYTES_MAX;
}

/** What a question is for: blocks are asked of one peer and its helpers, all else of any peer. */
export type AskedFor = 'blocks' | 'other';

/** What all peers together have sent. */
export class SharedUnsolicitedBytesBudget {
  readonly small = new ByteBucket(SMALL_OF_CROWD);
  readonly heavy = new ByteBucket(HEAVY_OF_CROWD);
  readonly heavyAnswers = new ByteBucket(HEAVY_ANSWERS_OF_CROWD);
  readonly arriving = new ByteBucket(ARRIVING_OF_CROWD);
}

/** A question that waits for its answer. */
interface OpenQuestion {
  readonly answerBytes: number;
  readonly what: AskedFor;
  /** A frame came off the wire for it. */
  isArrived: boolean;
  /** A frame was read for it. */
  isRead: boolean;
}

type Step = 'isArrived' | 'isRead';

export class UnsolicitedBytesBudget {
  readonly #crowd: SharedUnsolicitedBytesBudget;
  readonly #heavyFloor: number;
  readonly #small = new ByteBucket(SMALL_OF_PEER);
  readonly #reserve = new ByteBucket(SMALL_RESERVE);
  readonly #heavy = new ByteBucket(HEAVY_OF_PEER);
  readonly #arriving = new ByteBucket(ARRIVING_OF_PEER);
  readonly #arrivingShare = new ByteBucket(ARRIVING_SHARE);
  readonly #beyond = new RateWindow(FLOOD_WINDOW_MS);
  /** As many as calls of ours may wait for a peer. */
  readonly #questions: OpenQuestion[] = [];

  /** @param isDialled of a peer that we chose */
  constructor(crowd = new SharedUnsolicitedBytesBudget(), isDialled = false) {
    this.#crowd = crowd;
    this.#heavyFloor = isDialled ? -HEAVY_RESERVE : 0;
  }

  /** The peer was asked something. @param answerBytes what the answer may have */
  asked(answerBytes = FRAME_BYTES_MAX, what: AskedFor = 'blocks'): void {
    this.#questions.push({ answerBytes, what, isArrived: false, isRead: false });
  }

  /** A question was answered, or is not waited for any more. */
  settled(answerBytes = FRAME_BYTES_MAX, what: AskedFor = 'blocks'): void {
    const ofKind = this.#questions.filter((each) => each.answerBytes === answerBytes && each.what === what);
    const settled = ofKind.find(({ isRead }) => isRead) ?? ofKind[0];
    if (settled === undefined) return;
    this.#questions.splice(this.#questions.indexOf(settled), 1);
    // Nothing tells which question a frame is for. What was taken for the answer to another one was the answer to this.
    for (const step of ['isArrived', 'isRead'] as const) {
      const mistaken = settled[step] ? undefined : this.#questions.find((each) => each[step]);
      if (mistaken !== undefined) mistaken[step] = false;
    }
  }

  /**
   * Counts bytes that came in.
   *
   * @param seems whether their head is that of an answer
   * @returns milliseconds for which nothing more is to be taken off the wire
   */
  arrived(bytes: number, nowMs: number, seems: boolean): number {
    const question = seems ? this.#questionFor(bytes, 'isArrived') : undefined;
    if (question !== undefined) question.isArrived = true;
    const unsolicited = question === undefined ? bytes : 0;
    for (const bucket of [this.#arriving, this.#arrivingShare, this.#crowd.arriving]) bucket.take(unsolicited, nowMs);
    const isLoud = unsolicited > SMALL_WEIGHT_MAX || (unsolicited > 0 && this.#arrivingShare.level(nowMs) < 0);
    const crowdMs = isLoud ? this.#crowd.arriving.debtMs(nowMs) : 0;
    return Math.min(PAUSE_MS_MAX, Math.max(this.#arriving.debtMs(nowMs), crowdMs));
  }

  /**
   * Whether a frame is read, and counts it if so.
   *
   * @param containerBytes what it weighs besides its bytes; only asked for where it matters
   * @param seems whether its head is that of an answer
   */
  mayRead(bytes: number, containerBytes: () => number, nowMs: number, seems: boolean): boolean {
    const question = seems ? this.#questionFor(bytes, 'isRead') : undefined;
    if (question !== undefined) question.isRead = true;
    if (question?.what === 'blocks') return true;
    if (question === undefined && bytes > SMALL_WEIGHT_MAX && !this.#hasHeavy(nowMs)) return false;
    const weight = bytes + containerBytes();
    if (weight <= SMALL_WEIGHT_MAX) return question !== undefined || this.#readSmall(weight, nowMs);
    if (question !== undefined) {
      if (this.#crowd.heavyAnswers.debtMs(nowMs) > 0) return false;
      this.#crowd.heavyAnswers.take(weight, nowMs);
      return true;
    }
    if (!this.#hasHeavy(nowMs)) return false;
    this.#heavy.take(weight, nowMs);
    this.#crowd.heavy.take(weight, nowMs);
    return true;
  }

  /** Bytes of small frames beyond its budget, in the running window. See `FLOOD_BYTES_MAX`. */
  beyondBytes(nowMs: number): number {
    return this.#beyond.use(nowMs, 0);
  }

  #hasHeavy(nowMs: number): boolean {
    return this.#heavy.level(nowMs) > 0 && this.#crowd.heavy.level(nowMs) > this.#heavyFloor;
  }

  #readSmall(weight: number, nowMs: number): boolean {
    // By what it sends, read or not: else each line of a crowd that leaves no room would stay within its budget.
    if (this.#small.level(nowMs) < weight) {
      if (this.#crowd.arriving.debtMs(nowMs) > 0) this.#beyond.extend(nowMs);
      this.#beyond.use(nowMs, weight);
      return false;
    }
    this.#small.take(weight, nowMs);
    // This peer did not use up what others did: it is not counted as beyond.
    if (this.#crowd.small.level(nowMs) >= weight) this.#crowd.small.take(weight, nowMs);
    else if (this.#reserve.level(nowMs) >= weight) this.#reserve.take(weight, nowMs);
    else return false;
    return true;
  }

  /** The question with the least room that a frame fits: small acknowledgements leave the room of large answers. */
  #questionFor(bytes: number, step: Step): OpenQuestion | undefined {
    let best: OpenQuestion | undefined;
    for (const question of this.#questions) {
      if (question[step] || question.answerBytes < bytes) continue;
      const isBetter =
        best === undefined ||
        question.answerBytes < best.answerBytes ||
        (question.answerBytes === best.answerBytes && question.what === 'blocks' && best.what === 'other');
      if (isBetter) best = question;
    }
    return best;
  }
}
