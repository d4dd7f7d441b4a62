/**
 * Answers the calls of a peer on one connection, in the dialect of the generation. If `ANSWERS_PER_PEER_MAX` calls wait
 * for their answers, this module refuses further calls, except pings.
 */

import { ProtocolError } from '../primitives/errors.ts';
import type { Clock } from '../ports/clock.ts';
import { PeerOffence, type PeerOffenceCode, type PeerId, type TransportHandlers } from '../ports/transport.ts';
import type { AnsweredCall, Failure, IncomingCall, WireDialect } from './dialect.ts';
import type { Answer } from './link.ts';

/** Maximum number of calls of one peer that the node answers at the same time. */
const ANSWERS_PER_PEER_MAX = 32;
/** If a peer sends no request for this time, the node forgets the counts of the peer's requests (`#requests`). */
const REQUESTS_REMEMBERED_MS = 20_000;

export interface CallContext {
  readonly dialect: WireDialect;
  readonly handlers: Pick<TransportHandlers, 'answer'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** The info of this node, packed by the dialect. */
  ownInfo(): object;
}

/** The peer that makes the calls. */
export interface AskingPeer {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  withinBudget(name: string): boolean;
  /**
   * Stores the info that the peer sends about itself.
   *
   * @throws ProtocolError `INFO_REFUSED` if the peer is incompatible, or if the info is malformed or too large
   */
  believe(value: unknown): void;
  offence(offence: PeerOffenceCode, detail: string): void;
  /** Called when the code that answers a call has thrown an error. */
  raised(name: string, error: unknown): void;
}

export class PeerCalls {
  readonly #context: CallContext;
  readonly #peer: AskingPeer;
  /**
   * Counts of the peer's requests: all requests (`asked`), and the requests that this node answered without a failure
   * (`answered`). If the peer sends no request for more than `REQUESTS_REMEMBERED_MS`, both counts begin again at 0. If
   * this node refuses a request before looking for the answer, the request does not count.
   */
  #requests = { asked: 0, answered: 0, lastMs: 0 };
  #answering = 0;

  constructor(context: CallContext, peer: AskingPeer) {
    this.#context = context;
    this.#peer = peer;
  }

  /**
   * Share of the counted requests that this node answered without a failure, from 0 to 1. The share is undefined if no
   * request came within the last `REQUESTS_REMEMBERED_MS`.
   */
  get responsiveness(): number | undefined {
    const { asked, answered, lastMs } = this.#requests;
    if (asked === 0 || this.#context.clock.nowMs() - lastMs > REQUESTS_REMEMBERED_MS) return undefined;
    return answered / asked;
  }

  receive(event: string, data: unknown, answer: Answer): void {
    if (event === 'ping') {
      if (this.#peer.withinBudget('ping')) answer.end('pong');
      return;
    }
    const call = this.#context.dialect.readCall(data);
    if (!this.#peer.withinBudget(call.name)) return;
    if (call.kind === 'refused') {
      this.#fail(answer, undefined, call.error);
      if (call.offence !== undefined) this.#peer.offence(call.offence, `${call.name}: ${call.error.message}`);
      return;
    }
    if (this.#answering >= ANSWERS_PER_PEER_MAX) {
      this.#fail(answer, call, { message: 'Too many requests wait for an answer' });
      return;
    }
    this.#answering += 1;
    void this.#answer(call, answer).finally(() => {
      this.#answering -= 1;
    });
  }

  async #answer(call: Exclude<IncomingCall, { kind: 'refused' }>, answer: Answer): Promise<void> {
    const { dialect } = this.#context;
    this.#countRequest();
    try {
      const result = await this.#resultOf(call);
      this.#requests.answered += 1;
      answer.end(dialect.packAnswer(call satisfies AnsweredCall, result, this.#peer.peerId));
    } catch (error) {
      this.#fail(answer, call, failureOf(error));
      this.#peer.raised(call.name, error);
    }
  }

  #countRequest(): void {
    const nowMs = this.#context.clock.nowMs();
    if (nowMs - this.#requests.lastMs > REQUESTS_REMEMBERED_MS) this.#requests = { asked: 0, answered: 0, lastMs: 0 };
    this.#requests.asked += 1;
    this.#requests.lastMs = nowMs;
  }

  async #resultOf(call: Exclude<IncomingCall, { kind: 'refused' }>): Promise<unknown> {
    switch (call.kind) {
      case 'info':
        return this.#context.ownInfo();
      case 'peers':
        return this.#context.handlers.answer(this.#peer.peerId, { kind: 'peers' });
      case 'push':
        this.#peer.believe(call.value);
        return undefined;
      case 'request':
        return this.#context.handlers.answer(this.#peer.peerId, call.request);
    }
  }

  #fail(answer: Answer, call: AnsweredCall | undefined, failure: Failure): void {
    const packet = this.#context.dialect.packFailure(call, failure, this.#peer.direction);
    if (packet !== undefined) answer.end(packet);
    else answer.fail({ message: failure.message, ...(failure.name === undefined ? {} : { name: failure.name }) });
  }
}

/** Returns the failure that this node reports to the peer, without the details of an internal error. */
function failureOf(error: unknown): Failure {
  if (error instanceof ProtocolError) return { message: error.message, code: error.code };
  return { message: error instanceof PeerOffence ? error.message : 'Internal error' };
}
