/**
 * Bytes that peers send without having been asked. A frame must be read to its end before it shows what it is, so everything
 * counts that a peer sends beyond the room that our open questions leave for their answers.
 */

import { FRAME_BYTES_MAX } from './packets.ts';
import { RateWindow } from './rate.ts';

const WINDOW_MS = 10_000;
/** In a window, and read: a block of the largest kind has less than a million, and comes once from each peer. */
export const UNASKED_BYTES_FREE = 4_000_000;
/**
 * In a window; more cost. A peer whose line stood still may have kept eight million unsent, and the systems of both ends some
 * more.
 */
export const UNASKED_BYTES_CHARGED = 12_000_000;
/** In a window; more end the connection. */
export const UNASKED_BYTES_CUT = 16_000_000;
/** Of all peers in a window; beyond, only those are read that have sent little of it. */
export const CROWD_BYTES_MAX = 24_000_000;
const CROWD_BYTES_FREE = 256_000;
/**
 * Factor by which containers count more for all peers together than for one: an empty object takes 64 bytes of memory until
 * garbage is collected, so two frames full of them at once are enough. A peer must not be cut for one, which may be a block that a delegate
 * made so.
 */
const CONTAINERS_OF_CROWD = 4;

/** What all peers together have sent unasked. */
export class UnaskedCrowd {
  readonly #window = new RateWindow(WINDOW_MS);

  /** @returns bytes of the window with these */
  take(bytes: number, nowMs: number): number {
    return this.#window.use(nowMs, bytes);
  }
}

export class UnaskedBytes {
  readonly #crowd: UnaskedCrowd;
  readonly #window = new RateWindow(WINDOW_MS);
  /** Bytes that the answers to all open questions may have. */
  #openRoom = 0;
  /** Bytes that may still come as answers. */
  #answerRoom = 0;

  constructor(crowd = new UnaskedCrowd()) {
    this.#crowd = crowd;
  }

  /** The peer was asked something. @param answerBytes what the answer may have */
  asked(answerBytes = FRAME_BYTES_MAX): void {
    this.#openRoom += answerBytes;
    this.#answerRoom += answerBytes;
  }

  /** A question was answered, or is not waited for any more. */
  settled(answerBytes = FRAME_BYTES_MAX): void {
    this.#openRoom -= answerBytes;
    this.#answerRoom = Math.min(this.#answerRoom, this.#openRoom);
  }

  /** Counts what a frame counts for besides its bytes, for its arrays and objects. */
  takeContainers(bytes: number, nowMs: number): void {
    const before = this.#window.use(nowMs, 0);
    const { total } = this.take(bytes, nowMs);
    this.#crowd.take((CONTAINERS_OF_CROWD - 1) * (total - before), nowMs);
  }

  /** Counts a frame. @returns unasked bytes of the window before and with it */
  take(bytes: number, nowMs: number): { readonly before: number; readonly total: number } {
    const before = this.#window.use(nowMs, 0);
    const answer = Math.min(bytes, this.#answerRoom);
    this.#answerRoom -= answer;
    const unasked = bytes - answer;
    this.#crowd.take(unasked, nowMs);
    return { before, total: this.#window.use(nowMs, unasked) };
  }

  /** Whether nothing more of this peer is read in this window. */
  isSpent(nowMs: number): boolean {
    const own = this.#window.use(nowMs, 0);
    if (own > UNASKED_BYTES_FREE) return true;
    return own > CROWD_BYTES_FREE && this.#crowd.take(0, nowMs) > CROWD_BYTES_MAX;
  }
}
