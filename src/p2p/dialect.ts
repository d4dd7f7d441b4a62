/**
 * Defines the interface of a wire dialect. The two generations differ in the path of the URL, the names and envelopes
 * of events, and the form of node infos, calls and answers. In the module `p2p`, only the implementations of this
 * interface depend on these differences.
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
  /**
   * True if the node refuses a banned IP with HTTP 401 during the upgrade. False if the node closes the connection with
   * the code `CLOSE.forbidden` after the upgrade.
   */
  readonly bansAtUpgrade: boolean;
  /**
   * Names of the one-way SocketCluster events that this node receives. The list contains the name of the envelope (an
   * event that contains another event). The list also contains the names of the events that a peer can send without an
   * envelope.
   */
  readonly events: readonly string[];
  /**
   * Generation of the protocol. The rows of this generation in the table `RATES` (`ports/rates.ts`) limit how often a
   * peer is allowed to call each procedure and to send each event on a connection.
   */
  readonly generation: Generation;
  /**
   * Packs the failure of a peer's call as the data of an ordinary answer. Returns undefined if this node should send
   * the failure as an error.
   *
   * @param call the failed call; undefined if `readCall` refused the call
   * @param direction `inbound` if the peer dialled this node
   */
  packFailure(call: AnsweredCall | undefined, failure: Failure, direction: 'inbound' | 'outbound'): object | undefined;

  /** Packs the info of this node, with the members in the same order as in lisk-sdk. */
  packInfo(info: NodeInfo): object;
  /** Returns the query for the WebSocket URL of a peer that this node dials. */
  query(info: NodeInfo): Record<string, string>;
  /** Checks the query of the WebSocket URL of a dialling peer. The checks run in the same order as in lisk-sdk. */
  readQuery(query: URLSearchParams, ip: string, ownNonce: string): QueryVerdict;
  /**
   * Checks the info of a connected peer. The accepted info contains `address`, even if the peer sends a different
   * address.
   */
  readInfo(value: unknown, address: PeerAddress): InfoVerdict;
  /**
   * Returns the message that sends the packed info of this node to a peer. The message is a call in generation 2, and
   * an event in generation 3.
   */
  infoPush(packed: object): Outgoing;
  /** Returns the call that asks a peer for its info. */
  infoCall(): Outgoing;
  /**
   * Unpacks the info in the answer to `infoCall`.
   *
   * @throws ProtocolError `CALL_FAILED` if the answer reports a failed call (generation 2 only)
   */
  openInfoAnswer(answer: unknown): unknown;

  /**
   * Creates the calls for a request. A request can need several calls. The generator yields each call, and the caller
   * resumes the generator with the answer to this call. The generator returns the result of the request.
   *
   * @throws ProtocolError `REQUEST_UNSUPPORTED` if this generation does not have this request
   */
  ask<R extends PeerRequest>(request: R): Conversation<PeerAnswers[R['kind']]>;
  /** Reads a call of the peer and determines its kind. */
  readCall(data: unknown): IncomingCall;
  /**
   * Packs the result of a peer's call as the data of the answer.
   *
   * @param peerId the peer that made the call
   */
  packAnswer(call: AnsweredCall, result: unknown, peerId: PeerId): object;

  /** Packs a message for sending. Returns undefined if this generation does not have this kind of message. */
  packMessage(message: PeerMessage): Outgoing | undefined;
  readEvent(event: string, data: unknown): IncomingEvent;
}

export type Conversation<A> = Generator<Outgoing, AnswerVerdict<A>, unknown>;

export interface Outgoing {
  readonly event: string;
  readonly data: unknown;
  /** True for a call, to which the peer sends an answer; false for a one-way event. */
  readonly call: boolean;
}

export type QueryVerdict =
  | { readonly accepted: true; readonly info: PeerInfo }
  /**
   * `body`: an object that the node sends instead of the text `close.reason`. `body` is present only if a node of
   * lisk-sdk sends an object.
   */
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

/** The reason why this node could not answer a call that the peer sent. */
export interface Failure {
  readonly message: string;
  /** Name of the error in the answer to the peer. */
  readonly name?: string;
  /**
   * Code of the `ProtocolError` that caused the failure. If `readCall` refused the call, the dialect has chosen the
   * code (for example `BLOCKS_UNSOLICITED` in generation 2). The peer does not get this code.
   */
  readonly code?: string;
}

export type IncomingCall =
  | { readonly kind: 'info' | 'peers'; readonly name: string }
  /** A call with which the peer sends its info without a request from this node. */
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

/** Close codes and reasons. All entries except `overflow` come from the releases 2.3.8 and 3.0.2 of lisk-sdk. */
export const CLOSE = {
  self: { code: 4101, reason: 'Peer cannot connect to itself' },
  networkG2: { code: 4104, reason: 'Peer nethash did not match our own' },
  networkG3: { code: 4104, reason: 'Peer networkId did not match our own' },
  protocol: { code: 4104, reason: 'Peer has incompatible protocol version' },
  info: { code: 4105, reason: 'InvalidPeerInfoError' },
  forbidden: { code: 4403, reason: 'Peer is not allowed to connect' },
  duplicate: { code: 4404, reason: 'Peer has a duplicate connection' },
  /**
   * The node closes a connection with this code if the dropped frames that count (`UnsolicitedBytesBudget.beyondBytes`)
   * exceed `FLOOD_BYTES_MAX` in one window (`FLOOD_WINDOW_MS`). lisk-sdk has no code for this case, so this project
   * defines the code 4429. If a connection closes with an unknown code, a node of lisk-sdk dials again.
   */
  overflow: { code: 4429, reason: 'Peer sends more than is read' },
  query: {
    code: 4502,
    reason: 'Peer did not provide valid query parameters as part of the WebSocket connection',
  },
} as const satisfies Record<string, CloseReason>;
