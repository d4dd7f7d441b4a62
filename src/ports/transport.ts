/**
 * The wire as the engine sees it: peers with their announced state, requests, one-way messages. Names and shapes of frames
 * belong to `p2p`; JSON of blocks and transactions passes through unread and is decoded by the rules.
 */

import type { MemberSignature } from '../protocol/types.ts';

/** `<IPv4>:<wsPort>`, which identifies a peer. Several ports on one IP are several peers. */
export type PeerId = string;

export interface PeerAddress {
  /** Dotted IPv4. */
  readonly ip: string;
  readonly wsPort: number;
}

export function peerIdOf({ ip, wsPort }: PeerAddress): PeerId {
  return `${ip}:${String(wsPort)}`;
}

/** The info that a node sends about itself. Members that the generation does not have are undefined. */
export interface NodeInfo {
  readonly os: string;
  readonly version: string;
  readonly wsPort: number;
  readonly httpPort: number;
  readonly protocolVersion: string;
  /** Random per process start, 16 characters. */
  readonly nonce: string;
  readonly height: number;
  /** Generation 2. */
  readonly broadhash?: string;
  /** Generation 3: of the tip. */
  readonly blockVersion?: number;
  readonly maxHeightPrevoted?: number;
  readonly lastBlockId?: string;
  /** False asks others not to pass the address on. */
  readonly advertiseAddress?: boolean;
}

/** The info of a peer. All of it except the address is the peer's own claim. */
export interface PeerInfo extends PeerAddress {
  readonly os?: string;
  readonly version?: string;
  readonly httpPort?: number;
  readonly protocolVersion?: string;
  readonly nonce?: string;
  readonly height?: number;
  readonly broadhash?: string;
  readonly blockVersion?: number;
  readonly maxHeightPrevoted?: number;
  readonly lastBlockId?: string;
  /** Generation 3: the identifier of the peer's network. */
  readonly networkId?: string;
  /** Generation 2: the payload hash of its genesis block. */
  readonly nethash?: string;
  readonly advertiseAddress?: boolean;
}

export interface Connection {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  readonly info: PeerInfo;
  /** Unix time in milliseconds. */
  readonly sinceMs: number;
  /** Last measured round trip, undefined before the first. */
  readonly latencyMs: number | undefined;
  /** Share of the peer's recent questions that this node answered, 0 to 1; undefined without a question. */
  readonly responsiveness?: number | undefined;
}

/** Questions to a peer. */
export type PeerRequest =
  | { readonly kind: 'peers' }
  | { readonly kind: 'tip' }
  /** Blocks that follow this one. */
  | { readonly kind: 'blocksAfter'; readonly blockId: string }
  | { readonly kind: 'highestCommonBlock'; readonly blockIds: readonly string[] }
  /** Transactions of the peer's pool (without ids), or those with these ids. */
  | { readonly kind: 'transactions'; readonly ids?: readonly string[] }
  | { readonly kind: 'signatures' };

/** Questions about the chain and the pool. */
export type ChainQuestion = Exclude<PeerRequest, { kind: 'peers' }>;

/** Answers, by the kind of the question. Shapes were checked by the transport; JSON of blocks and transactions was not. */
export interface PeerAnswers {
  readonly peers: readonly PeerInfo[];
  readonly tip: unknown;
  readonly blocksAfter: readonly unknown[];
  /** Undefined when the peer knows none of the ids. */
  readonly highestCommonBlock: { readonly id: string; readonly height: number } | undefined;
  readonly transactions: readonly unknown[];
  readonly signatures: readonly { readonly transaction: string; readonly signatures: readonly string[] }[];
}

export type AnswerTo<R extends PeerRequest> = PeerAnswers[R['kind']];

/** One-way messages. */
export type PeerMessage =
  | { readonly kind: 'block'; readonly block: unknown }
  | { readonly kind: 'transactionIds'; readonly ids: readonly string[] }
  /** Generation 2: whole transactions. */
  | { readonly kind: 'transactions'; readonly transactions: readonly unknown[] }
  | { readonly kind: 'signatures'; readonly signatures: readonly MemberSignature[] };

/** The handlers of the engine for everything that comes in. Set once, before the transport starts. */
export interface TransportHandlers {
  /**
   * Answers a peer's question. A throw of a `ProtocolError` becomes an error answer (or none, where the generation punishes
   * error answers); `PeerFault` also costs the peer.
   */
  answer(peerId: PeerId, request: PeerRequest): Promise<unknown>;
  message(peerId: PeerId, message: PeerMessage): void;
  /** A connection is open and compatible in both directions. */
  connected(connection: Connection): void;
  disconnected(peerId: PeerId, direction: 'inbound' | 'outbound', reason: CloseReason): void;
  /** The peer sent a new info about itself. */
  updated(peerId: PeerId, info: PeerInfo): void;
  /** The peer broke the wire protocol; the transport has not closed the connection. */
  fault(peerId: PeerId, fault: PeerFaultCode, detail: string): void;
  /** Whether an IP may connect now; the transport asks before any handshake. */
  admits(ip: string): boolean;
  /** Whether the operator named a peer at an IP. Such peers are served even while many strangers connect. False by default. */
  isNamed?(ip: string): boolean;
  /** Called when the inbound limit is reached: the connection to close for the newcomer, if any. */
  evict(inbound: readonly Connection[]): PeerId | undefined;
}

export interface CloseReason {
  /** WebSocket or protocol close code, for example 4104. */
  readonly code: number;
  readonly reason: string;
}

/** Offences that the transport itself finds. `engine/peers/penalties.ts` has their points. */
export type PeerFaultCode =
  /** A message or answer of the wrong shape. */
  | 'MALFORMED_MESSAGE'
  /** A peer list that is no list, too long, or with impossible addresses. */
  | 'MALFORMED_PEER_LIST'
  /** Own info over the size limit. */
  | 'INFO_TOO_LARGE'
  /** More messages in a second than allowed. */
  | 'MESSAGE_RATE'
  /** So many more messages that the transport has closed the connection. */
  | 'MESSAGE_FLOOD'
  /** More uses of one procedure or event in its window than allowed. */
  | 'PROCEDURE_RATE';

export interface Transport {
  /** Opens the listener. @throws ProtocolError `PORT_IN_USE` naming the port */
  start(handlers: TransportHandlers): Promise<void>;
  /** Dials. @throws ProtocolError `DIAL_FAILED` with `code` and `reason` */
  connect(address: PeerAddress): Promise<PeerId>;
  disconnect(peerId: PeerId, reason: CloseReason): void;
  connections(): readonly Connection[];
  /** Asks a peer. @throws ProtocolError `REQUEST_FAILED` with the reason (time-out, closed, refused, malformed) */
  request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>>;
  /** Sends without waiting; dropped silently when the peer is gone or its queue is full. */
  send(peerId: PeerId, message: PeerMessage): void;
  /** Replaces the info of this node and sends it to each peer. */
  announce(info: NodeInfo): void;
  close(): Promise<void>;
}

/** Thrown by a handler when the peer broke the rules of calls. */
export class PeerFault extends Error {
  readonly fault: PeerFaultCode;

  constructor(fault: PeerFaultCode, detail: string) {
    super(detail);
    this.name = 'PeerFault';
    this.fault = fault;
  }
}
