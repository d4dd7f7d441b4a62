/** The words between a devnet's supervisor and its nodes, over the channel that a child process has to its parent. */

import type { ClockSetting } from '../../node/movable-clock.ts';
import type { JsonObject } from '../../protocol/types.ts';
import type { NodeFaults } from './faults.ts';

/** A message of this many full blocks takes a fraction of a second. */
export const BLOCKS_GIVEN_MAX = 100;

/** What the supervisor asks of a node. */
export type AgentRequest =
  /** Sets the clock, and whether forging waits for `forge`. */
  | { readonly op: 'set'; readonly setting: ClockSetting; readonly isHeld: boolean }
  | { readonly op: 'state' }
  /** Replaces the faults of the node's links and of its clock. */
  | { readonly op: 'faults'; readonly faults: NodeFaults }
  /** Fills the present slot if it belongs to a delegate of the node. */
  | { readonly op: 'forge' }
  /** Takes blocks of another node, in their order. */
  | { readonly op: 'take'; readonly blocks: readonly JsonObject[] }
  /** Gives the blocks above a height, at most `BLOCKS_GIVEN_MAX`. */
  | { readonly op: 'give'; readonly aboveHeight: number }
  /** Takes a transaction of another node. */
  | { readonly op: 'transaction'; readonly transaction: JsonObject }
  | { readonly op: 'account'; readonly address: string }
  | { readonly op: 'confirmed'; readonly id: string }
  /** From now on signatures of these keys pass, whatever they are. */
  | { readonly op: 'impersonate'; readonly publicKeys: readonly string[] }
  /** Copies chain, signing journal and pool as they are into a folder, which is made. */
  | { readonly op: 'snapshot'; readonly directory: string }
  /** Ends the node's work; the process stays. */
  | { readonly op: 'close' }
  /** Begins the work again on what the folder holds now, with these transactions in the pool. */
  | { readonly op: 'open'; readonly transactions: readonly JsonObject[] };

/** The answer to every request. */
export interface AgentState {
  readonly tip: { readonly id: string; readonly height: number; readonly slot: number };
  /** Of the state at the tip; told after `snapshot` and `open`. */
  readonly digest?: string;
  /** Peers that are connected. */
  readonly peers: number;
  /** Transactions that the next block may take. */
  readonly poolSize: number;
  /** The block of a `forge` that led to one. */
  readonly forged?: JsonObject;
  /** Of an `account` that is there. */
  readonly account?: AgentAccount;
  /** Of a `confirmed`: whether a block of the chain has the transaction. */
  readonly isConfirmed?: boolean;
  /** Of a `give`. */
  readonly blocks?: readonly JsonObject[];
}

export interface AgentAccount {
  /** Beddows. */
  readonly balance: string;
  readonly publicKey?: string;
  readonly secondPublicKey?: string;
  readonly isGroup: boolean;
}

/** The first message: what a node begins with. */
export interface AgentStart {
  readonly setting: ClockSetting;
  readonly isHeld: boolean;
  readonly impersonated: readonly string[];
  readonly faults: NodeFaults;
  /** Whether the chain in the node's folder is the copy of one that the supervisor has just gone through. */
  readonly isChainChecked?: boolean;
  /** Of a devnet that was forked from a chain: the number of this node, and of how many delegates are dealt out to. */
  readonly fork?: ForkShare;
}

export interface ForkShare {
  readonly index: number;
  readonly nodes: number;
}

/** What a node says unsolicited. */
export type AgentEvent =
  /** It runs, or runs again. */
  | { readonly event: 'ready'; readonly state: AgentState }
  | { readonly event: 'transaction'; readonly id: string; readonly transaction: JsonObject };

/** A request as it goes over the channel, after the first message. */
export interface NumberedRequest {
  readonly number: number;
  readonly request: AgentRequest;
}

export type NumberedAnswer =
  | { readonly number: number; readonly state: AgentState }
  | { readonly number: number; readonly error: { readonly code: string; readonly message: string } };

/** The supervisor's side of a node. */
export interface AgentLink {
  /** @throws ProtocolError `DEVNET_NODE_SILENT` without an answer in time, or what the node answers */
  ask(request: AgentRequest): Promise<AgentState>;
}
