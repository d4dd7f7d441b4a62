/**
 * Manages the connection with one peer, inbound or outbound: requests, answers, messages, pushes of node infos, and the
 * latency probe.
 */

import { messageOf, ProtocolError } from '../primitives/errors.ts';
import { TokenBucket } from '../primitives/token-bucket.ts';
import type { Clock, Random, Timer } from '../ports/clock.ts';
import type { Observer } from '../ports/observer.ts';
import { CALLS_PER_SECOND_MAX, RATE_WINDOW_MS, rateOf, REQUESTS_PER_PEER_MAX } from '../ports/rates.ts';
import {
  peerIdOf,
  type AnswerTo,
  type CloseReason,
  type Connection,
  PeerOffence,
  type PeerOffenceCode,
  type PeerId,
  type PeerInfo,
  type PeerMessage,
  type PeerRequest,
  type TransportHandlers,
} from '../ports/transport.ts';
import type { AnswerVerdict, Conversation, Outgoing, WireDialect } from './dialect.ts';
import type { Link, LinkEvents } from './link.ts';
import { FRAME_BYTES_MAX } from './frame-validation.ts';
import { PeerCalls } from './peer-calls.ts';
import { Pacer } from './rate-window.ts';
import { ReceiveLimits } from './receive-limits.ts';
import type { RequestKind } from './unsolicited-bytes.ts';

/**
 * Maximum number of bytes in an answer to a push of the node info, or to a ping of the latency probe. A larger answer
 * counts as unsolicited bytes. These answers need no content, so this maximum is much lower than the maximum for other
 * answers (`FRAME_BYTES_MAX`).
 */
const ACKNOWLEDGEMENT_BYTES = 1_000;
/**
 * Shortest pause, in milliseconds, before each ping of the latency probe. The pause is random, and lasts at most 60 s.
 */
const PROBE_MIN_MS = 20_000;
const PROBE_SPREAD_MS = 40_001;

export interface ConnectionContext {
  readonly dialect: WireDialect;
  readonly handlers: TransportHandlers;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
  readonly requestTimeoutMs: number;
  /** Returns the info of this node (for example its port and height), packed by `WireDialect.packInfo`. */
  ownInfo(): object;
}

export class PeerConnection implements Connection {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  readonly sinceMs: number;
  /** True from the moment when the engine learns of the connection until the connection ends. */
  announced = false;
  #info: PeerInfo;
  #latencyMs: number | undefined;
  #link: Link | undefined;
  #probe: Timer | undefined;
  readonly #calls: PeerCalls;
  #asking = 0;
  readonly #context: ConnectionContext;
  readonly #limits: ReceiveLimits;
  readonly #pacer: Pacer;
  /** Limits how often this node sends its info to the peer. */
  readonly #infoBucket: TokenBucket;
  #infoTimer: Timer | undefined;

  constructor(direction: 'inbound' | 'outbound', info: PeerInfo, context: ConnectionContext) {
    this.direction = direction;
    this.peerId = peerIdOf(info);
    this.sinceMs = context.clock.nowMs();
    this.#info = info;
    this.#context = context;
    this.#pacer = new Pacer(context.clock, CALLS_PER_SECOND_MAX);
    this.#limits = new ReceiveLimits(context.dialect.generation);
    const { burst, everyMs } = rateOf(context.dialect.generation, 'info').own;
    this.#infoBucket = new TokenBucket(burst, everyMs);
    this.#calls = new PeerCalls(context, {
      peerId: this.peerId,
      direction,
      withinBudget: (name) => this.#withinBudget(name),
      believe: (value) => this.#believe(value, true),
      offence: (offence, detail) => this.#offence(offence, detail),
      raised: (name, error) => this.#raised(name, error),
    });
  }

  get info(): PeerInfo {
    return this.#info;
  }

  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  get responsiveness(): number | undefined {
    return this.#calls.responsiveness;
  }

  /**
   * Returns the handlers for the events of the link. The link (`Link`) wraps the socket of this connection.
   *
   * @param closed called when the link ends
   */
  events(closed: (reason: CloseReason) => void): LinkEvents {
    return {
      called: (event, data, answer) => {
        this.#calls.receive(event, data, answer);
      },
      emitted: (event, data) => {
        this.#emitted(event, data);
      },
      closed: (reason) => {
        this.#probe?.cancel();
        this.#infoTimer?.cancel();
        closed(reason);
      },
      failed: (error) => {
        const fields = { peer: this.peerId, name: 'frame', error };
        this.#context.observer.log('error', 'PEER_HANDLER_FAILED', 'A handler failed', fields);
      },
    };
  }

  attach(link: Link): void {
    this.#link = link;
  }

  close(reason: CloseReason): void {
    this.#link?.close(reason);
  }

  /** Penalises a peer that sent more frames than the rate limit for frames allows. */
  overused(detail: string): void {
    this.#offence('MESSAGE_RATE', detail);
  }

  /** Penalises a peer that sent so many frames in one second that this node closed the connection. */
  flooded(detail: string): void {
    this.#offence('MESSAGE_FLOOD', detail);
  }

  /**
   * Sends the info of this node to the peer. If the rate limit for these pushes (`#infoBucket`) is reached, a timer
   * sends the newest info when the rate limit allows another push.
   *
   * @param early true on an accepted connection whose handshake this node has not answered yet
   */
  pushInfo(early = false): void {
    const { clock } = this.#context;
    if (this.#infoTimer !== undefined) return;
    if (!this.#infoBucket.take(clock.nowMs())) {
      this.#infoTimer = clock.after(this.#infoBucket.waitMs(clock.nowMs()), () => {
        this.#infoTimer = undefined;
        this.pushInfo();
      });
      return;
    }
    const push = this.#context.dialect.infoPush(this.#context.ownInfo());
    if (early) this.#link?.sendEarly(push);
    else if (!push.call) this.#link?.emit(push);
    // The node does not need the acknowledgement of a push, so a missing acknowledgement has no effect.
    else
      void this.#link
        ?.call(push, this.#context.requestTimeoutMs, ACKNOWLEDGEMENT_BYTES, 'other')
        .catch(() => undefined);
  }

  /**
   * Asks for the peer's info, and stores the info if it is valid and the peer is compatible. An info that is malformed
   * or too large is an offence. The duration of the call becomes the latency of the connection.
   *
   * @returns the reason why the info is not accepted; undefined if it is accepted
   * @throws ProtocolError `CALL_FAILED` if the call fails, or if the answer reports a failed call
   */
  async fetchInfo(): Promise<string | undefined> {
    const { clock, dialect } = this.#context;
    const startMs = clock.nowMs();
    const answer = await this.#call(dialect.infoCall(), 'other');
    this.#latencyMs = clock.nowMs() - startMs;
    const verdict = dialect.readInfo(dialect.openInfoAnswer(answer), this.#info);
    if (verdict.kind === 'accepted') {
      this.#info = verdict.info;
      return undefined;
    }
    if (verdict.kind === 'tooLarge') this.#offence('INFO_TOO_LARGE', verdict.reason);
    if (verdict.kind === 'malformed') this.#offence('MALFORMED_MESSAGE', verdict.reason);
    return verdict.reason;
  }

  /**
   * @throws ProtocolError `REQUEST_FAILED` in five cases: at the start of the request, `REQUESTS_PER_PEER_MAX` calls to
   *   the peer are unanswered (in generation 2, a request can need several calls, so slightly more calls can be
   *   unanswered later), the generation does not have this kind of request, a call fails, the peer refuses the request,
   *   or the peer sends a malformed answer
   */
  async request<R extends PeerRequest>(request: R): Promise<AnswerTo<R>> {
    const failed = (reason: string, cause?: unknown): ProtocolError =>
      new ProtocolError('REQUEST_FAILED', { peerId: this.peerId, request: request.kind, reason }, undefined, { cause });
    if (this.#asking >= REQUESTS_PER_PEER_MAX) throw failed('too many requests wait for this peer');
    let verdict: AnswerVerdict<AnswerTo<R>>;
    try {
      verdict = await this.#converse(this.#context.dialect.ask(request), requestKindOf(request));
    } catch (error) {
      throw failed(messageOf(error), error);
    }
    if (verdict.kind === 'answer') return verdict.answer;
    if (verdict.kind === 'malformed') this.#offence(verdict.offence, verdict.reason);
    throw failed(verdict.reason);
  }

  send(message: PeerMessage): void {
    const outgoing = this.#context.dialect.packMessage(message);
    if (outgoing !== undefined) this.#link?.emit(outgoing);
  }

  /**
   * Starts to send pings, which measure the round-trip time to the peer. The node waits 20 to 60 s (random) before each
   * ping. Only the node that accepted the connection sends these pings.
   */
  startProbe(): void {
    this.#probe = this.#context.clock.after(PROBE_MIN_MS + this.#context.random.below(PROBE_SPREAD_MS), () => {
      void this.#measure();
    });
  }

  async #measure(): Promise<void> {
    const startMs = this.#context.clock.nowMs();
    try {
      const ping = { event: 'ping', data: undefined, call: true };
      await this.#link?.call(ping, this.#context.requestTimeoutMs, ACKNOWLEDGEMENT_BYTES, 'other');
      this.#latencyMs = this.#context.clock.nowMs() - startMs;
    } catch {
      // An unanswered ping has no effect here. The heartbeat of the SocketCluster library ends a dead connection.
    }
    if (this.#link?.ended === undefined) this.startProbe();
  }

  async #converse<A>(conversation: Conversation<A>, what: RequestKind): Promise<AnswerVerdict<A>> {
    let step = conversation.next();
    while (step.done !== true) step = conversation.next(await this.#call(step.value, what));
    return step.value;
  }

  async #call(outgoing: Outgoing, what: RequestKind): Promise<unknown> {
    if (this.#link === undefined) throw new ProtocolError('CALL_FAILED', { reason: 'closed' });
    this.#asking += 1;
    try {
      await this.#pacer.wait();
      return await this.#link.call(outgoing, this.#context.requestTimeoutMs, FRAME_BYTES_MAX, what);
    } finally {
      this.#asking -= 1;
    }
  }

  // ---- events from the peer ---------------------------------------------------------------------------------------

  #emitted(event: string, data: unknown): void {
    const received = this.#context.dialect.readEvent(event, data);
    if (received.kind === 'ignored' || !this.#withinBudget(received.name)) return;
    try {
      if (received.kind === 'malformed') this.#offence('MALFORMED_MESSAGE', `${received.name}: ${received.reason}`);
      else if (received.kind === 'push') this.#believe(received.value, false);
      else if (this.announced) this.#context.handlers.message(this.peerId, received.message);
    } catch (error) {
      this.#raised(received.name, error);
    }
  }

  /**
   * Stores the info that the peer sends about itself. Stores nothing if the info is invalid or the peer is
   * incompatible.
   *
   * @param answered true if the peer sent the info in a call and expects an answer; false if the peer sent the info in
   *   an event
   * @throws ProtocolError `INFO_REFUSED` if `answered` is true and this method does not store the info
   */
  #believe(value: unknown, answered: boolean): void {
    const verdict = this.#context.dialect.readInfo(value, this.#info);
    if (verdict.kind === 'accepted') {
      this.#info = verdict.info;
      if (this.announced) this.#context.handlers.updated(this.peerId, verdict.info);
    } else if (answered) throw new ProtocolError('INFO_REFUSED', {}, verdict.reason);
    else if (verdict.kind === 'tooLarge') this.#offence('INFO_TOO_LARGE', verdict.reason);
    else if (verdict.kind === 'malformed') this.#offence('MALFORMED_MESSAGE', verdict.reason);
  }

  #withinBudget(name: string): boolean {
    const verdict = this.#limits.use(name, this.#context.clock.nowMs());
    if (verdict === 'taken') return true;
    this.#context.observer.count('p2p_rate_limited_total', 1, { name });
    if (verdict === 'penalised')
      this.#offence('PROCEDURE_RATE', `${name}: too many uses in ${String(RATE_WINDOW_MS)} ms`);
    return false;
  }

  /**
   * Evaluates an error that a handler threw: reports an offence of the peer (`PeerOffence`), ignores an expected
   * refusal (`ProtocolError`), or logs any other error.
   */
  #raised(name: string, error: unknown): void {
    if (error instanceof PeerOffence) this.#offence(error.offence, error.message);
    else if (!(error instanceof ProtocolError)) {
      const fields = { peer: this.peerId, name, error };
      this.#context.observer.log('error', 'PEER_HANDLER_FAILED', 'A handler failed', fields);
    }
  }

  #offence(offence: PeerOffenceCode, detail: string): void {
    this.#context.observer.count('p2p_offences_total', 1, { code: offence });
    this.#context.handlers.offence(this.peerId, offence, detail);
  }
}

/**
 * Returns the `RequestKind` of a request. The weight of an answer is its number of bytes, plus an addition for its
 * brackets and colons (`unsolicited-bytes.ts`). An answer to a request of the kind `other` counts against a byte budget
 * (`HEAVY_ANSWERS_OF_ALL_PEERS`) if the weight of the answer is above `SMALL_WEIGHT_MAX`. The reason is that any peer
 * can cause the node to send such a request. For example, the node requests each new transaction that a peer announces.
 * Answers to requests of the kind `blocks` count against no budget, because the node sends such requests only to the
 * sync peer and to same-tip peers. The sync peer is the peer whose chain the node downloads. Same-tip peers announce
 * the same tip as the sync peer.
 */
function requestKindOf({ kind }: PeerRequest): RequestKind {
  return kind === 'blocksAfter' || kind === 'highestCommonBlock' || kind === 'tip' ? 'blocks' : 'other';
}
