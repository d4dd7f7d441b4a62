/**
 * Defines the interface of a wire dialect. The two generations differ in path, names, envelopes, and the shape of
 * infos, calls and answers. In the module `p2p`, only the implementations of this interface know these differences.
 */

import type {
  ChainRequest,
  CloseReason,
  NodeInfo,
  PeerAddress,
  PeerAnswers,
  PeerOffenceCode,
  PeerId,
  PeerInfo,
  PeerMessage,
  PeerRequest,
} from '../ports/transport.ts';
import type { Generation } from '../protocol/params.ts';

export interface WireDialect {
  /** HTTP path of the upgrade request, ending with a slash. */
  readonly path: string;
  /** True if a banned IP is refused with HTTP 401 instead of a close code. */
  readonly bansAtUpgrade: boolean;
  /**
   * Names of the one-way events that this node receives. For an event in an envelope, the list has the name of the
   * envelope.
   */
  readonly events: readonly string[];
  /**
   * Generation of the protocol. In the table `RATES` (`ports/rates.ts`), the rows of this generation limit how often a
   * node may use each procedure and event on a connection.
   */
  readonly generation: Generation;
  /**
   * Packs the report of a failed call as the data of an ordinary answer; undefined if the node should send the failure
   * as an error. `direction` is the direction of the connection.
   *
   * @param call the failed call; undefined if `readCall` refused the call
   */
  packFailure(call: AnsweredCall | undefined, failure: Failure, direction: 'inbound' | 'outbound'): object | undefined;

  /** Packs the info of this node, with the members in the order of the reference. */
  packInfo(info: NodeInfo): object;
  /** The query of the WebSocket URL that this node dials. */
  query(info: NodeInfo): Record<string, string>;
  /** Judges the query of the WebSocket URL of a dialling peer, with the checks in the order of the reference. */
  readQuery(query: URLSearchParams, ip: string, ownNonce: string): QueryVerdict;
  /** Judges the info of a connected peer. The result has the given address, even if the peer sends another address. */
  readInfo(value: unknown, address: PeerAddress): InfoVerdict;
  /** The push of this node's info: a call in generation 2, an event in generation 3. */
  infoPush(packed: object): Outgoing;
  /** The call that asks for the peer's info. */
  infoCall(): Outgoing;
  /**
   * Unpacks the info in the answer to `infoCall`.
   *
   * @throws ProtocolError `CALL_FAILED` if the answer reports a failed call (generation 2 only)
   */
  openInfoAnswer(answer: unknown): unknown;

  /**
   * Makes the calls of a request; a request may need several calls. The generator yields each call, and the caller
   * resumes the generator with the answer to this call. The generator returns the result of the request.
   *
   * @throws ProtocolError `REQUEST_UNSUPPORTED` if this generation does not have this request
   */
  ask<R extends PeerRequest>(request: R): Conversation<PeerAnswers[R['kind']]>;
  /** Reads a call of the peer and determines its kind. */
  readCall(data: unknown): IncomingCall;
  /**
   * Packs a result as an answer.
   *
   * @param peerId the peer that asked
   */
  packAnswer(call: AnsweredCall, result: unknown, peerId: PeerId): object;

  /** Packs a message; undefined if this generation does not have this message. */
  packMessage(message: PeerMessage): Outgoing | undefined;
  readEvent(event: string, data: unknown): IncomingEvent;
}

export type Conversation<A> = Generator<Outgoing, AnswerVerdict<A>, unknown>;

export interface Outgoing {
  readonly event: string;
  readonly data: unknown;
  /** True if an answer is expected. */
  readonly call: boolean;
}

export type QueryVerdict =
  | { readonly accepted: true; readonly info: PeerInfo }
  /** `body` is an object that is sent instead of the reason text; set only where the reference sends an object. */
  | { readonly accepted: false; readonly close: CloseReason; readonly body?: object };

export type InfoVerdict =
  | { readonly kind: 'accepted'; readonly info: PeerInfo }
  | { readonly kind: 'incompatible'; readonly reason: string }
  | { readonly kind: 'malformed' | 'tooLarge'; readonly reason: string };

export type AnswerVerdict<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'malformed'; readonly offence: PeerOffenceCode; readonly reason: string }
  /** The peer cannot or will not answer the request. */
  | { readonly kind: 'refused'; readonly reason: string };

export type AnsweredCall =
  | { readonly kind: 'info' }
  | { readonly kind: 'peers' }
  | { readonly kind: 'push' }
  | { readonly kind: 'request'; readonly request: ChainRequest };

/** The reason why a call of the peer failed. */
export interface Failure {
  readonly message: string;
  /** Name of the error in the answer to the peer. */
  readonly name?: string;
  /** Code of the `ProtocolError` that caused the failure, or a code of the dialect; the peer does not get the code. */
  readonly code?: string;
}

export type IncomingCall =
  | { readonly kind: 'info' | 'peers'; readonly name: string }
  /** A push of the peer's info in the form of a call. */
  | { readonly kind: 'push'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'request'; readonly name: string; readonly request: ChainRequest }
  | {
      readonly kind: 'refused';
      readonly name: string;
      readonly error: Failure;
      readonly offence?: PeerOffenceCode;
    };

export type IncomingEvent =
  | { readonly kind: 'message'; readonly name: string; readonly message: PeerMessage }
  | { readonly kind: 'push'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'malformed'; readonly name: string; readonly reason: string };

/** Close codes and reasons of the reference (both generations), except `overflow`. */
export const CLOSE = {
  self: { code: 4101, reason: 'Peer cannot connect to itself' },
  networkG2: { code: 4104, reason: 'Peer nethash did not match our own' },
  networkG3: { code: 4104, reason: 'Peer networkId did not match our own' },
  protocol: { code: 4104, reason: 'Peer has incompatible protocol version' },
  info: { code: 4105, reason: 'InvalidPeerInfoError' },
  forbidden: { code: 4403, reason: 'Peer is not allowed to connect' },
  duplicate: { code: 4404, reason: 'Peer has a duplicate connection' },
  /**
   * Close code that only this project uses, because the reference has no code for an overflow. Nodes of the reference
   * dial again after an unknown code.
   */
  overflow: { code: 4429, reason: 'Peer sends more than is read' },
  query: {
    code: 4502,
    reason: 'Peer did not provide valid query parameters as part of the WebSocket connection',
  },
} as const satisfies Record<string, CloseReason>;
