/**
 * Filters each received frame before the SocketCluster library gets the frame. A frame is a heartbeat or a JSON object
 * of the SocketCluster protocol. One message contains one frame or a batch of frames. The filter counts and parses each
 * frame, and drops a frame that exceeds a limit or is invalid. The queue of the library is unbounded, so the filter
 * must drop all unwanted frames.
 */

import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import { FRAMES_PER_SECOND, honestFramesMax, RATE_WINDOW_MS, SAFETY } from '../ports/rates.ts';
import type { CloseReason } from '../ports/transport.ts';
import type { WireDialect } from './dialect.ts';
import {
  ANSWER_HEAD,
  BATCH_FRAMES_MAX,
  type Frame,
  frameOf,
  infoCount,
  infoText,
  isRecord,
  own,
  parseJson,
  seemsAnswer,
  structureBytes,
} from './frame-validation.ts';
import { RateWindow } from './rate-window.ts';
import { FLOOD_BYTES_MAX, UnsolicitedBytesBudget } from './unsolicited-bytes.ts';

/**
 * If this number of frames arrives on a connection in one second, the node closes the connection immediately, before
 * the node gives the peer a penalty. Fewer than 600 frames from an honest peer can arrive in a second
 * (`honestFramesMax`).
 */
export const FRAMES_PER_SECOND_CUT = 1_500;
/**
 * Each time the filter has dropped this number of a peer's frames in one window (`RATE_WINDOW_MS`), the peer gets one
 * penalty. Only frames that the filter drops because of the rate limit (`FrameFilter.#frames`) count.
 */
export const FRAMES_DROPPED_PER_CHARGE = 200;

const HANDSHAKE = '#handshake';
const GOODBYE = '#disconnect';
/**
 * Heartbeats of version 1 of the SocketCluster protocol. The filter passes heartbeats to the SocketCluster library as
 * text.
 */
const PING = '#1';
const PONG = '#2';
/** Call number (`rid`) in the answer to our own handshake. */
const HANDSHAKE_RID = 1;
/**
 * Maximum number of bytes of a frame before the end of the handshake. Parsing costs processor time, and the sender is
 * unknown. A peer that dials this node sends only its handshake (about 60 bytes). A peer that this node dials sends no
 * handshake, but it sends its answer to this node's handshake, and its info (at most `INFO_BYTES_MAX`).
 */
const EARLY_BYTES_MAX = { acceptor: 4_096, dialer: 32_768 } as const;

export interface FrameFilterEvents {
  /**
   * Called for every `FRAMES_DROPPED_PER_CHARGE` frames that the filter drops in one window because of the rate limit.
   */
  overused(detail: string): void;
  /** Called when a peer has sent `FRAMES_PER_SECOND_CUT` frames in a second. The handler must close the connection. */
  flooded(detail: string): void;
  /**
   * Called when the filter has dropped a frame because of a byte budget, and the dropped frames that count in the
   * present window (`UnsolicitedBytesBudget.beyondBytes`) have more than `FLOOD_BYTES_MAX` together. Attackers cannot
   * make an honest peer send so many bytes in one window. The handler must close the connection without a penalty for
   * the address, and call `FrameFilter.close`. Until the call of `FrameFilter.close`, the filter calls the handler
   * again for each further frame that it drops because of a byte budget.
   */
  overflowed(detail: string): void;
}

/** The properties of a received message that the node determines before it decodes the message to text. */
export interface Arrival {
  readonly bytes: number;
  readonly seemsAnswer: boolean;
}

/**
 * The argument of `count` for the second and each further frame of a batch. The call of `count` for the first frame has
 * already counted all bytes of the batch.
 */
const NO_BYTES: Arrival = { bytes: 0, seemsAnswer: false };

export class FrameFilter {
  /** Budget for the bytes that the peer sends without a request from this node. */
  readonly unsolicited: UnsolicitedBytesBudget;
  readonly #role: 'acceptor' | 'dialer';
  readonly #events: ReadonlySet<string>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #on: FrameFilterEvents;
  readonly #second = new RateWindow(1_000);
  /**
   * Limits the rate at which the node reads frames. When the connection of an honest peer works again after a blockage,
   * many frames arrive together. The capacity of the bucket suffices for all these frames.
   */
  readonly #frames: TokenBucket;
  readonly #dropped = new RateWindow(RATE_WINDOW_MS);
  #handshaken = false;
  #isOpen = false;
  #closed = false;
  #farewell: CloseReason | undefined;

  constructor(
    role: 'acceptor' | 'dialer',
    { events, generation }: Pick<WireDialect, 'events' | 'generation'>,
    clock: Pick<Clock, 'nowMs'>,
    on: FrameFilterEvents,
    unsolicited = new UnsolicitedBytesBudget(),
  ) {
    this.unsolicited = unsolicited;
    this.#role = role;
    this.#events = new Set([...events, 'rpc-request', 'ping']);
    this.#clock = clock;
    this.#on = on;
    this.#frames = new TokenBucket(framesAtOnceMax(generation), 1_000 / FRAMES_PER_SECOND);
  }

  /** Code and reason that the peer sent before it closed the connection. */
  get farewell(): CloseReason | undefined {
    return this.#farewell;
  }

  /** Call after this node has accepted the handshake of the peer. From now on, frames can have the maximum size. */
  open(): void {
    this.#isOpen = true;
  }

  /**
   * Drops all frames from now on. Without the call of this method, the library would still act on frames of a closed
   * connection.
   */
  close(): void {
    this.#closed = true;
  }

  /**
   * Counts a message on arrival, before the node decodes or parses the message.
   *
   * @returns milliseconds for which reading from the connection must pause
   */
  count({ bytes, seemsAnswer }: Arrival): number {
    if (this.#closed) return 0;
    const nowMs = this.#clock.nowMs();
    const frames = this.#second.use(nowMs);
    if (frames >= FRAMES_PER_SECOND_CUT) this.#on.flooded(`${String(frames)} frames in a second`);
    return this.unsolicited.arrived(bytes, nowMs, seemsAnswer);
  }

  /**
   * Parses a message for the SocketCluster library. Returns a heartbeat, a frame or a batch of frames, or null if the
   * filter drops the message.
   */
  admit(message: unknown): '#1' | '#2' | Frame | readonly (Frame | null)[] | null {
    if (this.#closed) return null;
    if (message === PING || message === PONG) return message;
    if (!this.#frames.take(this.#clock.nowMs())) return this.#dropAboveRate();
    // Honest nodes never send binary messages. Such a message becomes `undefined`, which `#frame` drops.
    const value = typeof message === 'string' ? this.#parse(message) : undefined;
    if (!Array.isArray(value)) return this.#frame(value);
    if (value.length === 0 || value.length > BATCH_FRAMES_MAX) return null;
    for (let extra = 1; extra < value.length; extra += 1) this.count(NO_BYTES);
    if (!this.#frames.take(this.#clock.nowMs(), value.length - 1)) {
      return this.#dropAboveRate(value.length);
    }
    return this.#closed ? null : value.map((frame) => this.#frame(frame));
  }

  #parse(text: string): unknown {
    const nowMs = this.#clock.nowMs();
    const bytes = Buffer.byteLength(text);
    if (!this.#isOpen && bytes > EARLY_BYTES_MAX[this.#role]) return undefined;
    if (this.unsolicited.mayRead(bytes, () => structureBytes(text), nowMs, seemsAnswer(text))) return parseJson(text);
    const beyond = this.unsolicited.beyondBytes(nowMs);
    if (beyond > FLOOD_BYTES_MAX) this.#on.overflowed(`${String(beyond)} bytes of small frames beyond the budget`);
    return undefined;
  }

  #frame(value: unknown): Frame | null {
    const event = isRecord(value) ? own(value, 'event') : undefined;
    // When a frame with the members `event` and `rid` arrives, the filter can count this frame as an answer. However,
    // `frameOf` reads such a frame as an event. Events must count against the budgets, so the filter drops a frame with
    // both members.
    if (isRecord(value) && event !== undefined && own(value, 'rid') !== undefined) return null;
    if (isRecord(value) && event === GOODBYE) return this.#goodbye(own(value, 'data'));
    if (isRecord(value) && event === HANDSHAKE) return this.#handshake(own(value, 'cid'));
    const frame = frameOf(value, this.#events);
    if (frame === undefined) return null;
    if (this.#role === 'dialer' && 'rid' in frame && frame.rid === HANDSHAKE_RID && !this.#handshaken) {
      this.#handshaken = true;
      this.open();
      return frame.error === undefined ? { rid: frame.rid, data: welcomeOf(frame.data) } : frame;
    }
    return frame;
  }

  /**
   * Passes only the first handshake of an inbound connection, and no handshake of a connection that this node dialled.
   * After a second handshake, the library would report the same connection again as a new connection.
   */
  #handshake(cid: unknown): Frame | null {
    if (this.#role === 'dialer' || this.#handshaken || typeof cid !== 'number' || !Number.isSafeInteger(cid)) {
      return null;
    }
    this.#handshaken = true;
    return { event: HANDSHAKE, data: { authToken: null }, cid };
  }

  #goodbye(data: unknown): null {
    const code = isRecord(data) ? infoCount(own(data, 'code')) : undefined;
    const payload = isRecord(data) ? own(data, 'data') : undefined;
    // For close code 4105, a node of lisk-sdk sends an object with the member `name` instead of a text.
    const reason = infoText(isRecord(payload) ? own(payload, 'name') : payload) ?? '';
    if (code !== undefined && this.#farewell === undefined) this.#farewell = { code, reason };
    return null;
  }

  #dropAboveRate(count = 1): null {
    const dropped = this.#dropped.use(this.#clock.nowMs(), count);
    if (dropped % FRAMES_DROPPED_PER_CHARGE < count) this.#on.overused(`${String(dropped)} frames above the rate`);
    return null;
  }
}

/**
 * Maximum number of frames that the node reads from one peer in a burst. The maximum is `SAFETY` times the number of
 * frames that can arrive from an honest node in one second. Therefore an honest peer never gets a penalty for a burst.
 */
export function framesAtOnceMax(generation: WireDialect['generation']): number {
  return Math.ceil(SAFETY * honestFramesMax(generation));
}

/** Returns the members of a handshake answer that the library needs, with values that the library can handle. */
function welcomeOf(data: unknown): object {
  const pingTimeout = isRecord(data) ? infoCount(own(data, 'pingTimeout')) : undefined;
  // If the peer's answer to the handshake has no valid `pingTimeout`, the library gets none. The library then ends the
  // connection almost immediately, with code 4000. A node of lisk-sdk that dials such a peer behaves in the same way.
  if (pingTimeout === undefined) return { isAuthenticated: false };
  return { pingTimeout: Math.min(Math.max(pingTimeout, 1_000), 120_000), isAuthenticated: false };
}

/**
 * Returns the facts about a received message that the node knows before it decodes the message. The socket delivers
 * each message as one buffer.
 */
export function arrivalOf(data: unknown): Arrival {
  if (!Buffer.isBuffer(data)) return { bytes: 0, seemsAnswer: false };
  return { bytes: data.length, seemsAnswer: seemsAnswer(data.toString('latin1', 0, ANSWER_HEAD.length)) };
}
