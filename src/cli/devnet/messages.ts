/**
 * Messages between the supervisor of a devnet (the process of `bloomery devnet`) and the nodes of the devnet. The
 * messages pass over the IPC channel of child processes. `bloomery/testing` passes the same messages within one
 * process.
 */

import type { ClockSetting } from '../../node/movable-clock.ts';
import type { JsonObject } from '../../protocol/types.ts';
import type { NodeFaults } from './faults.ts';

/**
 * Maximum number of blocks in one answer to `give`. With this limit, the transfer of one answer takes less than a
 * second, even if all blocks are full.
 */
export const BLOCKS_GIVEN_MAX = 100;
/**
 * Highest index of a node, counted from 0. A devnet starts with at most 32 nodes, but the user can add nodes. With this
 * limit, the name of a node's folder has at most two digits.
 */
export const NODE_INDEX_MAX = 99;

/** Requests of the supervisor to a node. */
export type AgentRequest =
  /**
   * Sets the chain clock. If `isHeld` is true, the node forges only on the request `forge`. If `isBrief` is true, the
   * devnet stops the clock only during an operation, for example while it mines a slot. While the clock is stopped, a
   * transaction of a client can have a later time than the clock. The node therefore checks such a transaction again
   * when the clock moves.
   */
  | { readonly op: 'set'; readonly setting: ClockSetting; readonly isHeld: boolean; readonly isBrief?: true }
  | { readonly op: 'state' }
  /** Sets the simulated faults of the node's links and clock, in place of all earlier faults. */
  | { readonly op: 'faults'; readonly faults: NodeFaults }
  /** Forges in the current slot if the slot belongs to a delegate of the node. */
  | { readonly op: 'forge' }
  /** Imports blocks of another node, in order. Skips blocks that are not above the tip. */
  | { readonly op: 'take'; readonly blocks: readonly JsonObject[] }
  /** Returns the blocks above `aboveHeight`, lowest first, at most `BLOCKS_GIVEN_MAX` blocks. */
  | { readonly op: 'give'; readonly aboveHeight: number }
  /** Adds a transaction to the pool of the node. */
  | { readonly op: 'transaction'; readonly transaction: JsonObject }
  | { readonly op: 'account'; readonly address: string }
  | { readonly op: 'confirmed'; readonly id: string }
  /** From now on, the node accepts any signature for these keys. */
  | { readonly op: 'impersonate'; readonly publicKeys: readonly string[] }
  /** Copies the chain, the signing journal, the transaction journal and the pool into a new folder. */
  | { readonly op: 'snapshot'; readonly directory: string }
  /** Closes the node. The process continues to run. */
  | { readonly op: 'close' }
  /** Opens the node again with the present content of its folder, and adds `transactions` to the pool. */
  | { readonly op: 'open'; readonly transactions: readonly JsonObject[] }
  /** The outcome of an operation that the node requested with the event `operation`. */
  | { readonly op: 'outcome'; readonly operation: number; readonly outcome: OperationOutcome };

/** Result or error of an operation that the dashboard of a node requested. */
export type OperationOutcome =
  { readonly result: object } | { readonly error: { readonly code: string; readonly message: string } };

/** The answer of a node to a request of the supervisor, if the node executed the request without an error. */
export interface AgentState {
  readonly tip: { readonly id: string; readonly height: number; readonly slot: number };
  /** Digest of the state at the tip; only in the answer to `snapshot` or `open`. */
  readonly digest?: string;
  /** Number of connected peers. */
  readonly peers: number;
  /**
   * Number of transactions in the pool. A transaction does not count as long as it lacks signatures of group members
   * (members of its multisignature group).
   */
  readonly poolSize: number;
  /** The block that the node forged; only in the answer to `forge`, and only if the node forged a block. */
  readonly forged?: JsonObject;
  /** The requested account; only in the answer to `account`, and only if the account exists. */
  readonly account?: AgentAccount;
  /** True when a block of the chain has the transaction; only in the answer to `confirmed`. */
  readonly isConfirmed?: boolean;
  /** The requested blocks; only in the answer to `give`. */
  readonly blocks?: readonly JsonObject[];
}

export interface AgentAccount {
  /** Balance of the account, in beddows. */
  readonly balance: string;
  readonly publicKey?: string;
  readonly secondPublicKey?: string;
  readonly isGroup: boolean;
}

/** First message of the supervisor to a node: the settings with which the node starts. */
export interface AgentStart {
  readonly setting: ClockSetting;
  /** True if the node forges only on the request `forge`. */
  readonly isHeld: boolean;
  /** Public keys for which the node accepts any signature. */
  readonly impersonated: readonly string[];
  readonly faults: NodeFaults;
  /** True when the dashboard of the node offers operations of the devnet, such as `mine`. */
  readonly hasPageControls?: boolean;
  /**
   * True when the folder of the node contains an unchanged copy of a chain that the supervisor has just checked. In
   * this case, the node does not check the chain again at its start.
   */
  readonly isChainChecked?: boolean;
  /** For a forked devnet: the index of this node, from 0, and the number of nodes that share the delegates. */
  readonly fork?: ForkShare;
}

export interface ForkShare {
  readonly index: number;
  readonly nodes: number;
}

/** Messages that a node sends without a request from the supervisor. */
export type AgentEvent =
  /** The node has started. */
  | { readonly event: 'ready'; readonly state: AgentState }
  /**
   * A transaction in the pool has passed verification. If signatures of group members are missing at this time, the
   * node sends the event again when the transaction has enough signatures, and again for each signature that arrives
   * later.
   */
  | { readonly event: 'transaction'; readonly id: string; readonly transaction: JsonObject }
  /**
   * The dashboard of the node requests an operation of the devnet. The supervisor answers with the request `outcome`.
   */
  | {
      readonly event: 'operation';
      readonly number: number;
      readonly operation: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    };

/** A request with a number. The answer has the same number. All requests after the first message have this form. */
export interface NumberedRequest {
  readonly number: number;
  readonly request: AgentRequest;
}

export type NumberedAnswer =
  | { readonly number: number; readonly state: AgentState }
  | { readonly number: number; readonly error: { readonly code: string; readonly message: string } };

/** The supervisor's connection to a node. */
export interface AgentLink {
  /**
   * @throws ProtocolError `DEVNET_NODE_SILENT` if the node ends before it answers, or does not answer within the time
   *   limit of the link; or the error that the answer of the node contains
   */
  ask(request: AgentRequest): Promise<AgentState>;
}
