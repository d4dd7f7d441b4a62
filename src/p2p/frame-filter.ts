/**
 * The filter that each received frame passes before the message layer gets it. It counts the frame, parses it once, and drops
 * it if it is no frame of the protocol. The queue of the message layer has no bound, so no unwanted frame may pass.
 */

import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import { FRAMES_PER_SECOND, honestFramesMax, RATE_WINDOW_MS, SAFETY } from '../ports/rates.ts';
import type { CloseReason } from '../ports/transport.ts';
import type { WireDialect } from './dialect.ts';
import {
  ANSWER_HEAD,
  BATCH_FRAMES_MAX,
  containerBytes,
  type Frame,
  frameOf,
  infoCount,
  infoText,
  isRecord,
  own,
  parseJson,
  seemsAnswer,
} from './packets.ts';
import { RateWindow } from './rate.ts';
import { FLOOD_BYTES_MAX, UnsolicitedBytesBudget } from './unsolicited-bytes.ts';

/** Frames in a second that end a connection at once, whatever the engine decides about the peer: far more than honest ones. */
export const FRAMES_PER_SECOND_CUT = 1_500;
/** Frames dropped in a window, after those that are taken, for which a peer is charged once. */
export const FRAMES_DROPPED_PER_CHARGE = 200;

const HANDSHAKE = '#handshake';
const GOODBYE = '#disconnect';
/** Heartbeats of protocol version 1; they stay text for the message layer. */
const PING = '#1';
const PONG = '#2';
/** Rid of the answer to our own handshake. */
const HANDSHAKE_RID = 1;

export interface FrameFilterEvents {
  /** The peer sent far more frames than are read. */
  overused(detail: string): void;
  /** The peer sent far too many frames: cut the line. */
  flooded(detail: string): void;
  /**
   * More bytes than honest peers can be made to send: close the line, at no cost to the address. It must close the filter: told
   * again with each frame until then.
   */
  overflowed(detail: string): void;
}

/** The facts of a message before it is decoded to text. */
export interface Arrival {
  readonly bytes: number;
  readonly seemsAnswer: boolean;
}

/** The rest of a batch. */
const NO_BYTES: Arrival = { bytes: 0, seemsAnswer: false };

export class FrameFilter {
  /** Budget for everything that the peer sends beyond answers. */
  readonly unsolicited: UnsolicitedBytesBudget;
  readonly #role: 'acceptor' | 'dialer';
  readonly #events: ReadonlySet<string>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #on: FrameFilterEvents;
  readonly #second = new RateWindow(1_000);
  /** Frames that are read: at once as many as an honest peer's line can bring after it stood still. */
  readonly #frames: TokenBucket;
  readonly #dropped = new RateWindow(RATE_WINDOW_MS);
  #handshaken = false;
  #closed = false;
  #farewell: CloseReason | undefined;
  #ignored = 0;

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

  /** Code and reason that the peer gave before it closed. */
  get farewell(): CloseReason | undefined {
    return this.#farewell;
  }

  /** Frames dropped so far. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Drops all frames from now on: the library would still act on frames of a connection that it has given up. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Counts a frame as it arrives, before anything is done with it.
   *
   * @returns milliseconds for which nothing more is to be taken off the wire
   */
  count({ bytes, seemsAnswer }: Arrival): number {
    if (this.#closed) return 0;
    const nowMs = this.#clock.nowMs();
    const frames = this.#second.use(nowMs);
    if (frames >= FRAMES_PER_SECOND_CUT) this.#on.flooded(`${String(frames)} frames in a second`);
    return this.unsolicited.arrived(bytes, nowMs, seemsAnswer);
  }

  /** Returns the input of the message layer: a heartbeat, a frame, a batch of frames, or null for none. */
  admit(message: unknown): '#1' | '#2' | Frame | readonly (Frame | null)[] | null {
    if (this.#closed) return null;
    if (message === PING || message === PONG) return message;
    if (!this.#frames.take(this.#clock.nowMs())) return this.#dropAboveRate();
    // Binary frames are never sent by a node; control characters alone are no JSON.
    const value = typeof message === 'string' ? this.#parse(message) : undefined;
    if (!Array.isArray(value)) return this.#frame(value);
    if (value.length === 0 || value.length > BATCH_FRAMES_MAX) return this.#drop();
    for (let extra = 1; extra < value.length; extra += 1) this.count(NO_BYTES);
    if (!this.#frames.take(this.#clock.nowMs(), value.length - 1)) {
      return this.#dropAboveRate(value.length);
    }
    return this.#closed ? null : value.map((frame) => this.#frame(frame));
  }

  #parse(text: string): unknown {
    const nowMs = this.#clock.nowMs();
    if (this.unsolicited.mayRead(text.length, () => containerBytes(text), nowMs, seemsAnswer(text)))
      return parseJson(text);
    const bytes = this.unsolicited.beyondBytes(nowMs);
    if (bytes > FLOOD_BYTES_MAX) this.#on.overflowed(`${String(bytes)} bytes of small frames beyond the budget`);
    return undefined;
  }

  #frame(value: unknown): Frame | null {
    const event = isRecord(value) ? own(value, 'event') : undefined;
    // It may have come in the place of an answer, which events must pay for.
    if (isRecord(value) && event !== undefined && own(value, 'rid') !== undefined) return this.#drop();
    if (isRecord(value) && event === GOODBYE) return this.#goodbye(own(value, 'data'));
    if (isRecord(value) && event === HANDSHAKE) return this.#handshake(own(value, 'cid'));
    const frame = frameOf(value, this.#events);
    if (frame === undefined) return this.#drop();
    if (this.#role === 'dialer' && 'rid' in frame && frame.rid === HANDSHAKE_RID && !this.#handshaken) {
      this.#handshaken = true;
      return frame.error === undefined ? { rid: frame.rid, data: welcomeOf(frame.data) } : frame;
    }
    return frame;
  }

  /** The library would perform a second handshake on an open connection and announce it twice. */
  #handshake(cid: unknown): Frame | null {
    if (this.#role === 'dialer' || this.#handshaken || typeof cid !== 'number' || !Number.isSafeInteger(cid)) {
      return this.#drop();
    }
    this.#handshaken = true;
    return { event: HANDSHAKE, data: { authToken: null }, cid };
  }

  #goodbye(data: unknown): null {
    const code = isRecord(data) ? infoCount(own(data, 'code')) : undefined;
    const said = isRecord(data) ? own(data, 'data') : undefined;
    // The reference gives an object with a name instead of a text for one code.
    const reason = infoText(isRecord(said) ? own(said, 'name') : said) ?? '';
    if (code !== undefined && this.#farewell === undefined) this.#farewell = { code, reason };
    return null;
  }

  #dropAboveRate(count = 1): null {
    const dropped = this.#dropped.use(this.#clock.nowMs(), count);
    if (dropped % FRAMES_DROPPED_PER_CHARGE < count) this.#on.overused(`${String(dropped)} frames above the rate`);
    return this.#drop();
  }

  #drop(): null {
    this.#ignored += 1;
    return null;
  }
}

/** Frames that are read at once, and then as many in a second as no release charges for. */
export function framesAtOnceMax(generation: WireDialect['generation']): number {
  return Math.ceil(SAFETY * honestFramesMax(generation));
}

/** The members of a handshake answer that count, as types that the library can bear. */
function welcomeOf(data: unknown): object {
  const pingTimeout = isRecord(data) ? infoCount(own(data, 'pingTimeout')) : undefined;
  // Without the member the library ends the connection with 4000, as the reference does.
  if (pingTimeout === undefined) return { isAuthenticated: false };
  return { pingTimeout: Math.min(Math.max(pingTimeout, 1_000), 120_000), isAuthenticated: false };
}

/** What a message as the socket hands it over shows before it is text: one buffer, unless the socket is told otherwise. */
export function arrivalOf(data: unknown): Arrival {
  if (!Buffer.isBuffer(data)) return { bytes: 0, seemsAnswer: false };
  return { bytes: data.length, seemsAnswer: seemsAnswer(data.toString('latin1', 0, ANSWER_HEAD.length)) };
}
