/**
 * What the two generations say differently: path, names, envelopes and the shape of infos, calls and answers. Connections
 * know this interface only.
 */

import type {
  ChainQuestion,
  CloseReason,
  NodeInfo,
  PeerAddress,
  PeerAnswers,
  PeerFaultCode,
  PeerId,
  PeerInfo,
  PeerMessage,
  PeerRequest,
} from '../ports/transport.ts';
import type { Generation } from '../protocol/params.ts';

export interface WireDialect {
  /** HTTP path of the upgrade, with its slash at the end. */
  readonly path: string;
  /** True where a banned IP is turned away with HTTP 401 instead of a close code. */
  readonly bansAtUpgrade: boolean;
  /** One-way events that are listened to. */
  readonly events: readonly string[];
  /** Whose rates of procedures and events hold. */
  readonly generation: Generation;
  /**
   * The answer packet that says on a connection of this direction that a call failed; undefined where an error does.
   *
   * @param call what was asked, undefined when it could not be read
   */
  packFailure(call: AnsweredCall | undefined, failure: Failure, direction: 'inbound' | 'outbound'): object | undefined;

  /** What the node says of itself, in the member order of the reference. */
  packInfo(info: NodeInfo): object;
  /** Query of a dial. */
  query(info: NodeInfo): Record<string, string>;
  /** Judges the query of a dialler, in the order of checks of the reference. */
  readQuery(query: URLSearchParams, ip: string, ownNonce: string): QueryVerdict;
  /** Judges what a connected peer says of itself. Its address stays what the socket says. */
  readInfo(value: unknown, address: PeerAddress): InfoVerdict;
  /** Own-info push. */
  infoPush(packed: object): Outgoing;
  /** Question for the peer's info. */
  infoCall(): Outgoing;
  /** The info inside the answer to `infoCall`. @throws ProtocolError `CALL_FAILED` for an answer that says that there is none */
  openInfoAnswer(answer: unknown): unknown;

  /**
   * Puts a question: yields each call that it takes, is given its answer and returns what came of it.
   *
   * @throws ProtocolError `REQUEST_UNSUPPORTED` for a question that the wire has no words for
   */
  ask<R extends PeerRequest>(request: R): Conversation<PeerAnswers[R['kind']]>;
  /** Sorts a call of the peer by what it asks. */
  readCall(data: unknown): IncomingCall;
  /** The answer packet around a result; `peerId` is the asker's. */
  packAnswer(call: AnsweredCall, result: unknown, peerId: PeerId): object;

  packMessage(message: PeerMessage): Outgoing | undefined;
  readEvent(event: string, data: unknown): IncomingEvent;
}

export type Conversation<A> = Generator<Outgoing, AnswerVerdict<A>, unknown>;

export interface Outgoing {
  readonly event: string;
  readonly data: unknown;
  /** True when an answer is expected. */
  readonly call: boolean;
}

export type QueryVerdict =
  | { readonly accepted: true; readonly info: PeerInfo }
  /** `body` is what travels instead of the reason text, where the reference sends an object. */
  | { readonly accepted: false; readonly close: CloseReason; readonly body?: object };

export type InfoVerdict =
  | { readonly kind: 'accepted'; readonly info: PeerInfo }
  | { readonly kind: 'incompatible'; readonly reason: string }
  | { readonly kind: 'malformed' | 'tooLarge'; readonly reason: string };

export type AnswerVerdict<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  | { readonly kind: 'malformed'; readonly fault: PeerFaultCode; readonly reason: string }
  /** An answer, but not to the question: the peer cannot or will not say. */
  | { readonly kind: 'refused'; readonly reason: string };

export type AnsweredCall =
  | { readonly kind: 'info' }
  | { readonly kind: 'peers' }
  | { readonly kind: 'push' }
  | { readonly kind: 'request'; readonly request: ChainQuestion };

/** Why a call failed, as the asker may know it. */
export interface Failure {
  readonly message: string;
  /** Name of the error on the wire. */
  readonly name?: string;
  /** Code of the `ProtocolError` behind it. */
  readonly code?: string;
}

export type IncomingCall =
  | { readonly kind: 'info' | 'peers'; readonly name: string }
  /** Own-info push that is a call. */
  | { readonly kind: 'push'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'request'; readonly name: string; readonly request: ChainQuestion }
  | {
      readonly kind: 'refused';
      readonly name: string;
      readonly error: Failure;
      readonly fault?: PeerFaultCode;
    };

export type IncomingEvent =
  | { readonly kind: 'message'; readonly name: string; readonly message: PeerMessage }
  | { readonly kind: 'push'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'malformed'; readonly name: string; readonly reason: string };

/** Close codes and texts of the reference (both generations). */
export const CLOSE = {
  self: { code: 4101, reason: 'Peer cannot connect to itself' },
  networkG2: { code: 4104, reason: 'Peer nethash did not match our own' },
  networkG3: { code: 4104, reason: 'Peer networkId did not match our own' },
  protocol: { code: 4104, reason: 'Peer has incompatible protocol version' },
  info: { code: 4105, reason: 'InvalidPeerInfoError' },
  forbidden: { code: 4403, reason: 'Peer is not allowed to connect' },
  duplicate: { code: 4404, reason: 'Peer has a duplicate connection' },
  /** No code of the reference means this; its nodes dial again after any that they do not know. */
  overflow: { code: 4429, reason: 'Peer sends more than is read' },
  query: {
    code: 4502,
    reason: 'Peer did not provide valid query parameters as part of the WebSocket connection',
  },
} as const satisfies Record<string, CloseReason>;
