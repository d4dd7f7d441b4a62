/**
 * Limits how many bytes of a peer this node reads (parses), and how fast this node receives bytes from the connection.
 * The node knows the kind of a frame only after it has read the frame. The budgets of this module therefore count the
 * bytes of frames of every kind. For each pending request (a request of this node that waits for its answer), one frame
 * can count as the answer. All other frames count against the budgets of the peer and of all peers together.
 *
 * If a budget has no room for a frame, this node drops only that frame, without a penalty for its sender. Even honest
 * nodes can exceed a budget, because they pass on blocks of three megabytes, and a delegate can sign any number of
 * these blocks. If bytes arrive faster than an honest node sends, this node pauses receiving from the connection
 * (backpressure). A frame is small if its weight (see below) is at most `SMALL_WEIGHT_MAX`; all other frames are heavy.
 * Third parties can make an honest node send small frames, but only up to a limit (`FLOOD_BYTES_MAX`). This node closes
 * a connection that exceeds this limit. A frame with more than `SMALL_WEIGHT_MAX` bytes does not count towards this
 * limit, because the frame can be a block that an honest node passes on. If a budget has no room for such a frame, this
 * node drops the frame without reading it, so the dropped frame costs almost no processor time. A heavy frame with
 * fewer bytes counts towards the limit if a budget has no room for the frame.
 *
 * An answer begins with the number of its request, so the beginning of a frame shows whether the frame can be an answer
 * (`seemsAnswer`). `UnsolicitedBytesBudget` counts a frame with such a beginning as the answer to a pending request,
 * even if the frame is an event. The bytes of such an event would therefore not count against the budgets. For this
 * reason, the frame filter drops every event that begins like an answer.
 *
 * The weight of a frame measures the cost of reading the frame. The weight is the number of bytes of the frame, plus 8
 * for each opening bracket (of an array or object), plus 32 for each colon (of a member of an object). The weight also
 * counts brackets and colons inside texts, and is at most five times the number of bytes (`structureBytes`). Reading a
 * frame takes 5 to 75 ms for each megabyte of its weight, and up to 105 ms if a text of the frame contains `__proto__`
 * or certain escape sequences. The most expensive frames contain very many objects with names that no other object has.
 * Reading one of these frames takes up to 1.2 s and 130 MB of memory, which garbage collection frees.
 */

import { FRAME_BYTES_MAX } from './frame-validation.ts';
import { ByteBucket, type ByteRate, RateWindow } from './rate-window.ts';

/**
 * Maximum weight of a small frame. All other frames are heavy. Small and heavy frames have separate budgets, so that a
 * heavy block does not use up the budget for its sender's other messages.
 */
export const SMALL_WEIGHT_MAX = 256_000;
/**
 * Budget for small frames of one peer. The budget allows a weight of 400 kB in each second, for example nearly four
 * messages with 25 transactions of 4 kB each. The capacity is ten times the bytes of one second, because many frames
 * arrive together when a blocked connection works again.
 */
export const SMALL_OF_PEER: ByteRate = { capacity: 4_000_000, perSecond: 400_000 };
/**
 * Budget for small frames of all peers together. When this shared budget is used up, each peer can still use its own
 * reserve (`SMALL_RESERVE`).
 */
export const SMALL_OF_ALL_PEERS: ByteRate = { capacity: 8_000_000, perSecond: 2_400_000 };
const SMALL_RESERVE: ByteRate = { capacity: 256_000, perSecond: 25_600 };
/**
 * The weight of a frame measures the cost of reading the frame. The weight is the number of bytes of the frame, plus an
 * addition for its brackets and colons (`structureBytes`). No frame has a weight above five times `FRAME_BYTES_MAX`.
 * `HEAVIEST` is a little above this maximum weight. The token buckets for heavy frames use `HEAVIEST` as their maximum
 * debt. A bucket without debt therefore counts each frame with its full weight.
 */
const HEAVIEST = 16_000_000;
/**
 * Budget for heavy frames of one peer. The budget allows two frames of 15 MB in a burst, and after the burst one such
 * frame every seven seconds.
 */
const HEAVY_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 2_000_000 };
/**
 * The part of the budget `HEAVY_OF_ALL_PEERS` that only outbound peers can use. Therefore inbound peers cannot use up
 * the budget for blocks from the peers that this node chose.
 */
const HEAVY_RESERVE = HEAVIEST;
/**
 * Budget for heavy frames of all peers together. The budget allows one frame of 16 MB every four seconds. If
 * this node drops a block because of this budget, the node later downloads the block in a sync.
 */
const HEAVY_OF_ALL_PEERS: ByteRate = { capacity: 3_000_000, perSecond: 4_000_000, debtMax: HEAVY_RESERVE };
/**
 * Budget of all peers together for heavy answers to requests of the kind `other` (see `RequestKind`). Each peer can
 * cause this node to send such a request to the peer every five seconds. Without this budget, peers could make this
 * node read a heavy answer to each of these requests. The capacity suffices for ten peer lists with 1,000 entries,
 * which can arrive together after the start of a node of generation 3.
 */
export const HEAVY_ANSWERS_OF_ALL_PEERS: ByteRate = { capacity: 8_000_000, perSecond: 2_000_000, debtMax: HEAVIEST };
/**
 * Budget for all bytes that this node receives from one peer, except answers. The bytes of dropped frames also count.
 * If a peer exceeds this budget, this node pauses the connection.
 */
export const ARRIVING_OF_PEER: ByteRate = { capacity: 16_000_000, perSecond: 4_000_000 };
/**
 * Budget for all bytes that this node receives from all peers together, except answers. When this budget is used up,
 * this node pauses two kinds of connections: a connection that exceeds its share (`ARRIVING_SHARE`), and a connection
 * that delivers a frame of more than `SMALL_WEIGHT_MAX` bytes.
 */
export const ARRIVING_OF_ALL_PEERS: ByteRate = { capacity: 64_000_000, perSecond: 32_000_000 };
/**
 * The share of one peer in the budget `ARRIVING_OF_ALL_PEERS`. Small frames and heavy frames both count against the
 * share. The rate of `ARRIVING_OF_ALL_PEERS` is 128 times the rate of a share.
 */
export const ARRIVING_SHARE: ByteRate = { capacity: 1_000_000, perSecond: 250_000 };
/**
 * Maximum number of bytes by which the small frames of a peer are allowed to exceed `SMALL_OF_PEER` within
 * `FLOOD_WINDOW_MS`. A dropped heavy frame with at most `SMALL_WEIGHT_MAX` bytes also counts, with the number of its
 * bytes. This node closes a connection that exceeds this maximum, without a penalty for the address.
 *
 * Third parties can make an honest node pass on messages. In the minute after a blocked connection works again, 100
 * blocks, 91 messages of transactions and 91 messages of signatures can arrive from an honest node (`ports/rates.ts`).
 * If all these messages had the maximum size of small frames, they would have 72 MB together. `FLOOD_BYTES_MAX` is one
 * and a half times 72 MB. At the rate of `ARRIVING_OF_PEER`, a flood exceeds this maximum after about half a minute.
 *
 * Connections that flood at the same time share `ARRIVING_OF_ALL_PEERS`, so each of them delivers less in a minute.
 * While all peers together exceed `ARRIVING_OF_ALL_PEERS`, this node therefore extends the window (`FLOOD_WINDOW_MS`)
 * of each connection whose small frames exceed `SMALL_OF_PEER`. If forty connections flood, the node closes all of them
 * within five minutes. If eighty or more connections flood, each of them delivers at most `SMALL_OF_PEER`, because the
 * rate of `ARRIVING_OF_ALL_PEERS` is eighty times the rate of `SMALL_OF_PEER`. These connections stay open, and this
 * node pauses them again and again.
 */
export const FLOOD_BYTES_MAX = 108_000_000;
export const FLOOD_WINDOW_MS = 60_000;
/**
 * Maximum length in milliseconds of one pause of a connection. The maximum is small, because the heartbeat ends a
 * connection from which this node receives nothing for 20 s.
 */
const PAUSE_MS_MAX = 5_000;
/**
 * Returns the maximum number of bytes of the messages that the node has read but not yet handled. This maximum is the
 * sum of several parts. Two parts are for small frames: the budget of all peers, and the reserves of all connections
 * (`SMALL_RESERVE`). Three parts are for heavy frames: the budget, its reserve for outbound peers (`HEAVY_RESERVE`),
 * and the size of one frame that overdraws the budget. Two parts are for heavy answers: the budget, and the size of one
 * answer that overdraws the budget. Answers with blocks are not part of the sum, because
 * `engine/sync/arrived-batches.ts` limits their size in memory.
 */
export function readAtOnceBytesMax(connections: number): number {
  const small = SMALL_OF_ALL_PEERS.capacity + connections * SMALL_RESERVE.capacity;
  const heavy = HEAVY_OF_ALL_PEERS.capacity + HEAVY_RESERVE + FRAME_BYTES_MAX;
  return small + heavy + HEAVY_ANSWERS_OF_ALL_PEERS.capacity + FRAME_BYTES_MAX;
}

/**
 * Kind of a request. Requests for blocks, for the common block and for the tip have the kind `blocks`. Requests for
 * other data have the kind `other`. The node sends requests of the kind `blocks` only to the sync peer (the peer whose
 * chain the node downloads) and to peers that announce the same tip as the sync peer. The node can send requests of the
 * kind `other` to any peer.
 */
export type RequestKind = 'blocks' | 'other';

/** The budgets that all peers share. */
export class SharedUnsolicitedBytesBudget {
  readonly small = new ByteBucket(SMALL_OF_ALL_PEERS);
  readonly heavy = new ByteBucket(HEAVY_OF_ALL_PEERS);
  readonly heavyAnswers = new ByteBucket(HEAVY_ANSWERS_OF_ALL_PEERS);
  readonly arriving = new ByteBucket(ARRIVING_OF_ALL_PEERS);
}

/** A request that waits for its answer. */
interface PendingRequest {
  readonly answerBytes: number;
  readonly what: RequestKind;
  /** True if `arrived` has assigned a message to this request. */
  isArrived: boolean;
  /** True if `mayRead` has assigned a frame to this request. */
  isRead: boolean;
}

type Step = 'isArrived' | 'isRead';

export class UnsolicitedBytesBudget {
  readonly #shared: SharedUnsolicitedBytesBudget;
  readonly #heavyFloor: number;
  readonly #small = new ByteBucket(SMALL_OF_PEER);
  readonly #reserve = new ByteBucket(SMALL_RESERVE);
  readonly #heavy = new ByteBucket(HEAVY_OF_PEER);
  readonly #arriving = new ByteBucket(ARRIVING_OF_PEER);
  readonly #arrivingShare = new ByteBucket(ARRIVING_SHARE);
  readonly #beyond = new RateWindow(FLOOD_WINDOW_MS);
  /**
   * The requests to the peer that wait for an answer. The list contains at most `REQUESTS_PER_PEER_MAX` requests for
   * data. It can also contain a few pings, and a few messages that tell the peer this node's own data (for example its
   * height). The peer answers such a message with a short acknowledgement.
   */
  readonly #pending: PendingRequest[] = [];

  /** @param isDialled true for a peer that this node dialled */
  constructor(shared = new SharedUnsolicitedBytesBudget(), isDialled = false) {
    this.#shared = shared;
    this.#heavyFloor = isDialled ? -HEAVY_RESERVE : 0;
  }

  /**
   * Registers a request to the peer. The caller must call this function before it sends the request.
   *
   * @param answerBytes maximum number of bytes of the answer
   */
  asked(answerBytes = FRAME_BYTES_MAX, what: RequestKind = 'blocks'): void {
    this.#pending.push({ answerBytes, what, isArrived: false, isRead: false });
  }

  /** Removes a request that was answered or has failed, for example after its time limit. */
  settled(answerBytes = FRAME_BYTES_MAX, what: RequestKind = 'blocks'): void {
    const ofKind = this.#pending.filter((each) => each.answerBytes === answerBytes && each.what === what);
    const settled = ofKind.find(({ isRead }) => isRead) ?? ofKind[0];
    if (settled === undefined) return;
    this.#pending.splice(this.#pending.indexOf(settled), 1);
    // This class does not know which request a frame answers. If A is the removed request, and B is another pending
    // request, the class has possibly counted the answer to A as the answer to B. In this case, the class marks B as
    // not answered.
    for (const step of ['isArrived', 'isRead'] as const) {
      const mistaken = settled[step] ? undefined : this.#pending.find((each) => each[step]);
      if (mistaken !== undefined) mistaken[step] = false;
    }
  }

  /**
   * Counts the bytes of a message that arrived. A message that can be an answer to a pending request does not count.
   *
   * @param seems true if the message begins like an answer
   * @returns milliseconds for which this node must pause the connection
   */
  arrived(bytes: number, nowMs: number, seems: boolean): number {
    const request = seems ? this.#requestFor(bytes, 'isArrived') : undefined;
    if (request !== undefined) request.isArrived = true;
    const unsolicited = request === undefined ? bytes : 0;
    for (const bucket of [this.#arriving, this.#arrivingShare, this.#shared.arriving]) bucket.take(unsolicited, nowMs);
    const isLoud = unsolicited > SMALL_WEIGHT_MAX || (unsolicited > 0 && this.#arrivingShare.level(nowMs) < 0);
    const sharedMs = isLoud ? this.#shared.arriving.debtMs(nowMs) : 0;
    return Math.min(PAUSE_MS_MAX, Math.max(this.#arriving.debtMs(nowMs), sharedMs));
  }

  /**
   * Returns whether this node reads a frame. Each frame that the node reads counts against the budgets, except in two
   * cases: the frame is an answer to a request of the kind `blocks`, or the frame is an answer with a weight of at most
   * `SMALL_WEIGHT_MAX`.
   *
   * @param structureBytes a function that returns the weight that arrays, objects and members add to the size of the
   *   frame. `mayRead` calls this function only if it needs the weight
   * @param seems true if the frame begins like an answer
   */
  mayRead(bytes: number, structureBytes: () => number, nowMs: number, seems: boolean): boolean {
    const request = seems ? this.#requestFor(bytes, 'isRead') : undefined;
    if (request !== undefined) request.isRead = true;
    if (request?.what === 'blocks') return true;
    if (request === undefined && bytes > SMALL_WEIGHT_MAX && !this.#hasHeavy(nowMs)) return false;
    const weight = bytes + structureBytes();
    if (weight <= SMALL_WEIGHT_MAX) return request !== undefined || this.#readSmall(weight, nowMs);
    if (request !== undefined) {
      if (this.#shared.heavyAnswers.debtMs(nowMs) > 0) return false;
      this.#shared.heavyAnswers.take(weight, nowMs);
      return true;
    }
    if (!this.#hasHeavy(nowMs)) {
      if (bytes <= SMALL_WEIGHT_MAX) this.#noteBeyond(bytes, this.#heavy.level(nowMs) <= 0, nowMs);
      return false;
    }
    this.#heavy.take(weight, nowMs);
    this.#shared.heavy.take(weight, nowMs);
    return true;
  }

  /**
   * Adds up two kinds of frames of the peer that this node has dropped in the present time window (`FLOOD_WINDOW_MS`).
   * The caller compares the returned sum with `FLOOD_BYTES_MAX`. First, a small frame counts with its weight, if
   * `SMALL_OF_PEER` had no room for the frame. (A frame is small if its weight, the cost of reading it, is at most
   * `SMALL_WEIGHT_MAX`.) Second, a heavy frame with at most `SMALL_WEIGHT_MAX` bytes counts with the number of its
   * bytes, if a budget for heavy frames had no room for the frame.
   */
  beyondBytes(nowMs: number): number {
    return this.#beyond.use(nowMs, 0);
  }

  #hasHeavy(nowMs: number): boolean {
    return this.#heavy.level(nowMs) > 0 && this.#shared.heavy.level(nowMs) > this.#heavyFloor;
  }

  #readSmall(weight: number, nowMs: number): boolean {
    // If the frame exceeds the budget `SMALL_OF_PEER`, the node drops the frame. The dropped frame counts towards
    // `FLOOD_BYTES_MAX`. While all peers together exceed `ARRIVING_OF_ALL_PEERS`, this function extends the window for
    // this count. Without the longer window, many connections could flood at the same time, and each of them would stay
    // below `FLOOD_BYTES_MAX`.
    if (this.#small.level(nowMs) < weight) {
      this.#noteBeyond(weight, true, nowMs);
      return false;
    }
    this.#small.take(weight, nowMs);
    // The node also drops a frame if the shared budget and the peer's reserve have no room for the frame. Such a frame
    // does not count towards `FLOOD_BYTES_MAX`, because it is possible that other peers have used up the shared budget.
    if (this.#shared.small.level(nowMs) >= weight) this.#shared.small.take(weight, nowMs);
    else if (this.#reserve.level(nowMs) >= weight) this.#reserve.take(weight, nowMs);
    else return false;
    return true;
  }

  /**
   * Counts a dropped frame of at most `SMALL_WEIGHT_MAX` bytes towards `FLOOD_BYTES_MAX`.
   *
   * @param isOwnExcess whether the peer itself has used up its budget. If only other peers have used up a shared budget,
   *   the window is never extended
   */
  #noteBeyond(bytes: number, isOwnExcess: boolean, nowMs: number): void {
    if (isOwnExcess && this.#shared.arriving.debtMs(nowMs) > 0) this.#beyond.extend(nowMs);
    this.#beyond.use(nowMs, bytes);
  }

  /**
   * Finds a pending request whose flag `step` is not set, and whose answer is allowed to be as large as the frame. Of
   * these requests, the function chooses the request with the smallest maximum size of the answer. A short answer, for
   * example the answer to a ping, is therefore assigned to a request that allows a long answer only if no request with
   * a smaller maximum size fits. Among requests with the same maximum size, the function chooses a request of the kind
   * `blocks` first.
   */
  #requestFor(bytes: number, step: Step): PendingRequest | undefined {
    let best: PendingRequest | undefined;
    for (const request of this.#pending) {
      if (request[step] || request.answerBytes < bytes) continue;
      const isBetter =
        best === undefined ||
        request.answerBytes < best.answerBytes ||
        (request.answerBytes === best.answerBytes && request.what === 'blocks' && best.what === 'other');
      if (isBetter) best = request;
    }
    return best;
  }
}
