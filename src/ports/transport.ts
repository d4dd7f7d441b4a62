/**
 * Defines the interface through which the engine uses the network: connections to peers, the infos that peers send
 * about themselves, requests, and messages without an answer. The `p2p` module defines the names and shapes of frames.
 * Each row of the table in `rates.ts` has the name and the rates of one message or request. A message or request
 * without a row has no rate limit of its own. The transport passes on the JSON values of blocks and transactions
 * without validating them. The engine decodes these values with the `Codec` of the chain.
 */

import type { MemberSignature } from '../protocol/types.ts';

/** Identifies a peer: `<IPv4>:<wsPort>`. Two ports of the same IP address identify two peers. */
export type PeerId = string;

export interface PeerAddress {
  /** IPv4 address in dotted decimal form. */
  readonly ip: string;
  readonly wsPort: number;
}

export function peerIdOf({ ip, wsPort }: PeerAddress): PeerId {
  return `${ip}:${String(wsPort)}`;
}

/**
 * The info that a node sends about itself. The node sends only the members that exist in the protocol of its
 * generation.
 */
export interface NodeInfo {
  readonly os: string;
  readonly version: string;
  readonly wsPort: number;
  readonly httpPort: number;
  readonly protocolVersion: string;
  /** 16 random characters that the node chooses at each start of its process. */
  readonly nonce: string;
  readonly height: number;
  /**
   * The broadhash of the node's chain: a hash over the ids of the newest five blocks. Only nodes of generation 2 send
   * the broadhash.
   */
  readonly broadhash?: string;
  /**
   * Version of the tip block. This member and the next two members describe the sender's tip. Only nodes of generation
   * 3 send these members.
   */
  readonly blockVersion?: number;
  readonly maxHeightPrevoted?: number;
  readonly lastBlockId?: string;
  /**
   * If false, the sender asks its peers not to send the sender's address to other nodes. Only nodes of generation 3
   * send this member.
   */
  readonly advertiseAddress?: boolean;
}

/**
 * The info of a peer. For a connected peer, `ip` is the address of the connection. If this node dialled the peer,
 * `wsPort` is the dialled port. If the peer dialled this node, `wsPort` is an unproved statement of the peer. All other
 * members are also unproved statements of the peer. For a peer that another peer reported, all members are unproved
 * statements of the reporting peer.
 */
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
  /** The identifier of the peer's network. Only peers of generation 3 send this member. */
  readonly networkId?: string;
  /** The payload hash of the genesis block of the peer's network. Only peers of generation 2 send this member. */
  readonly nethash?: string;
  readonly advertiseAddress?: boolean;
}

export interface Connection {
  readonly peerId: PeerId;
  readonly direction: 'inbound' | 'outbound';
  readonly info: PeerInfo;
  /** Unix time in milliseconds at which the connection started. */
  readonly sinceMs: number;
  /**
   * The last measured duration of a round trip to the peer, in milliseconds. The value is undefined before the first
   * measurement.
   */
  readonly latencyMs: number | undefined;
  /**
   * Share of the peer's requests that this node answered without an error, from 0 to 1. If the peer sends no request
   * for more than 20 seconds, the node forgets the earlier requests of the peer, and the value is undefined until the
   * next request.
   */
  readonly responsiveness?: number | undefined;
}

/** Requests to a peer. */
export type PeerRequest =
  | { readonly kind: 'peers' }
  | { readonly kind: 'tip' }
  /** Asks for the blocks after the block with this id. */
  | { readonly kind: 'blocksAfter'; readonly blockId: string }
  | { readonly kind: 'highestCommonBlock'; readonly blockIds: readonly string[] }
  /** Asks for the transactions with these ids. Without `ids`, asks for transactions of the peer's pool. */
  | { readonly kind: 'transactions'; readonly ids?: readonly string[] }
  | { readonly kind: 'signatures' };

/** Requests for data of the chain and the pool: all requests except the request for peer addresses. */
export type ChainRequest = Exclude<PeerRequest, { kind: 'peers' }>;

/**
 * The answer to each kind of request. The transport has checked the form of each answer, except the JSON of blocks and
 * transactions in the answer.
 */
export interface PeerAnswers {
  readonly peers: readonly PeerInfo[];
  readonly tip: unknown;
  readonly blocksAfter: readonly unknown[];
  /**
   * The highest of the requested blocks (`blockIds`) that the peer's chain contains; undefined if the peer's chain
   * contains none of the requested blocks.
   */
  readonly highestCommonBlock: { readonly id: string; readonly height: number } | undefined;
  readonly transactions: readonly unknown[];
  readonly signatures: readonly { readonly transaction: string; readonly signatures: readonly string[] }[];
}

export type AnswerTo<R extends PeerRequest> = PeerAnswers[R['kind']];

/** Messages that the node sends to peers or receives from peers, and that get no answer. */
export type PeerMessage =
  | { readonly kind: 'block'; readonly block: unknown }
  | { readonly kind: 'transactionIds'; readonly ids: readonly string[] }
  /** Contains whole transactions. Only nodes of generation 2 send this message. */
  | { readonly kind: 'transactions'; readonly transactions: readonly unknown[] }
  | { readonly kind: 'signatures'; readonly signatures: readonly MemberSignature[] };

/**
 * Functions of the engine that the transport calls for requests, messages and connections of peers. The handlers are
 * set when the transport starts, and never change.
 */
export interface TransportHandlers {
  /**
   * Answers a peer's request. If this method throws, the transport sends an error to the peer. In generation 2, the
   * transport reports some failures in an ordinary answer instead (`packFailure` in `p2p/calls-gen2.ts`). If this
   * method throws a `PeerOffence`, the peer that sent the request also loses points.
   */
  answer(peerId: PeerId, request: PeerRequest): Promise<unknown>;
  message(peerId: PeerId, message: PeerMessage): void;
  /** Called when a connection is open and the two nodes have found that they are compatible. */
  connected(connection: Connection): void;
  disconnected(peerId: PeerId, direction: 'inbound' | 'outbound', reason: CloseReason): void;
  /** Called when the peer sent new and valid info about itself. */
  updated(peerId: PeerId, info: PeerInfo): void;
  /**
   * Called when the peer broke the wire protocol. The transport closes the connection after the offence
   * `MESSAGE_FLOOD`. The transport also closes the connection to a dialled peer whose first info is malformed or too
   * large. After other offences, the transport leaves the connection open.
   */
  offence(peerId: PeerId, offence: PeerOffenceCode, detail: string): void;
  /**
   * Returns true if peers at an IP address are allowed to connect now. The transport calls this method before it
   * accepts an inbound connection, possibly several times for one connection.
   */
  admits(ip: string): boolean;
  /**
   * Returns true if an option of the node names a peer at this IP address. A named peer can connect even while many
   * other hosts are connecting. If `isNamed` is absent, no peer is named.
   */
  isNamed?(ip: string): boolean;
  /**
   * Called when a new peer connects while the number of inbound connections is at its maximum.
   *
   * @returns the peer to disconnect, so that the new peer can connect; undefined to refuse the new peer
   */
  evict(inbound: readonly Connection[]): PeerId | undefined;
}

export interface CloseReason {
  /** Close code of WebSocket (such as 1006) or of the Lisk peer protocol (such as 4104). */
  readonly code: number;
  readonly reason: string;
}

/**
 * Offences against the wire protocol. The transport detects an offence itself, or a handler throws the offence as a
 * `PeerOffence`. `engine/peers/penalties.ts` defines the penalty points of each offence.
 */
export type PeerOffenceCode =
  /** A message, a request, an answer or the info of a peer is malformed. */
  | 'MALFORMED_MESSAGE'
  /**
   * The peer answered a request for peers with a list that is too long. In generation 3, an answer that is not a list
   * is also this offence. If single entries of the list are too large, or have an invalid address or port, the
   * transport only skips these entries. Such entries are no offence.
   */
  | 'MALFORMED_PEER_LIST'
  /** The peer's info about itself is larger than allowed. */
  | 'INFO_TOO_LARGE'
  /**
   * Within ten seconds, the peer exceeded its rate limit for all frames by 200 frames (`p2p/frame-filter.ts`). The
   * transport dropped these 200 frames.
   */
  | 'MESSAGE_RATE'
  /** The peer sent 1,500 frames within one second. The transport closed the connection. */
  | 'MESSAGE_FLOOD'
  /**
   * In a window of ten seconds, the peer made more than `penalisedAbove` (`rates.ts`) calls of one procedure, or sent
   * more than `penalisedAbove` messages with one name.
   */
  | 'PROCEDURE_RATE';

export interface Transport {
  /**
   * Starts to listen.
   *
   * @throws ProtocolError `PORT_IN_USE` if the port is in use, or `LISTEN_FAILED` if the transport cannot listen for
   *   any other reason. Both errors name the port
   */
  start(handlers: TransportHandlers): Promise<void>;
  /**
   * Dials a peer.
   *
   * @throws ProtocolError `DIAL_FAILED` if the dial fails; this error contains the close code (`code`) and the
   *   `reason`. ProtocolError `PEERS_DISABLED` if the node runs without peers
   */
  connect(address: PeerAddress): Promise<PeerId>;
  disconnect(peerId: PeerId, reason: CloseReason): void;
  connections(): readonly Connection[];
  /**
   * Sends a request to a peer, and resolves with the answer.
   *
   * @throws ProtocolError `REQUEST_FAILED` with a `reason` in four cases: the transport cannot send the request, the
   *   peer refuses the request, the peer sends no answer in time, or the answer is malformed. ProtocolError
   *   `PEERS_DISABLED` if the node runs without peers
   */
  request<R extends PeerRequest>(peerId: PeerId, request: R): Promise<AnswerTo<R>>;
  /**
   * Sends a message and does not wait for its delivery. If the peer is disconnected, the transport drops the message
   * without an error. If the peer reads too slowly, the transport drops the message and closes the connection.
   */
  send(peerId: PeerId, message: PeerMessage): void;
  /**
   * Replaces the info of this node, and sends the new info to each connected peer. If the info changes faster than the
   * rate limit (`rates.ts`) allows, the transport waits, and then sends only the newest info.
   */
  announce(info: NodeInfo): void;
  close(): Promise<void>;
}

/**
 * Maximum number of ids in a request for a common block. A node of lisk-sdk 3.0.2 sends at most 202 ids. A node of
 * lisk-sdk 2.3.8 never sends this request, but accepts this request with up to 1,000 ids from nodes of earlier
 * releases.
 */
export const COMMON_BLOCK_IDS_MAX = 1_000;

/** A handler throws this error if the peer broke the wire protocol, for example with a malformed request. */
export class PeerOffence extends Error {
  readonly offence: PeerOffenceCode;

  constructor(offence: PeerOffenceCode, detail: string) {
    super(detail);
    this.name = 'PeerOffence';
    this.offence = offence;
  }
}
