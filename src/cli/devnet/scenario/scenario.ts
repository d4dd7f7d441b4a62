/** Types of a scenario: a devnet, actions on it, and conditions that must be true. */

import type { Generation } from '../../../protocol/params.ts';
import type { MiningMode } from '../mining.ts';

export interface Scenario {
  readonly name: string;
  readonly devnet: ScenarioDevnet;
  readonly steps: readonly Step[];
}

export interface ScenarioDevnet {
  readonly nodes: number;
  readonly mine: MiningMode;
  readonly generation: Generation;
  readonly delegates?: number;
  /** Seconds between two blocks. Below 2, the clock of the chain runs ahead of the machine's clock. */
  readonly blockTime?: number;
  /** Name or folder of a network. */
  readonly network?: string;
}

export interface Step {
  /** Line in the file, counted from 1. */
  readonly line: number;
  /** Text of the step for reports. */
  readonly text: string;
  readonly work: StepWork;
}

export type StepWork =
  /** An operation of a running devnet (`operations.ts`). */
  | { readonly kind: 'operation'; readonly operation: string; readonly parameters: object }
  /**
   * Sends beddows from the first account of the network, usually `genesis`, to an account or address. Mines slots until
   * a block has the transaction, for at most two rounds.
   */
  | { readonly kind: 'fund'; readonly to: string; readonly amount: bigint }
  /**
   * Adds a transfer of a known account to the pool of a node. In the mode `instant`, the devnet then mines a block; in
   * the other modes, the step makes no block.
   */
  | {
      readonly kind: 'transfer';
      readonly from: string;
      readonly to: string;
      readonly amount: bigint;
      readonly node: number;
    }
  /** Waits until `ms` milliseconds have passed on the clock of the machine. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'expect'; readonly expected: Expected };

/** Conditions that must all be true in one check within the time limit. */
export interface Expected {
  readonly withinMs: number;
  /** Numbers of the checked nodes; default: all nodes except those that a step has killed or paused. */
  readonly nodes?: readonly number[];
  readonly conditions: readonly Condition[];
}

export type Condition =
  /** Bounds of a value that each node reports. */
  | { readonly kind: 'heights' | 'finalized' | 'finalityLag'; readonly bounds: Bounds<number> }
  /**
   * Takes the lowest tip height of the checked nodes, and compares the blocks that these nodes have at this height. If
   * `isSame` is true, all these blocks must be the same. If `isSame` is false, at least two of them must differ.
   */
  | { readonly kind: 'sameBlock'; readonly isSame: boolean }
  /** Balance in beddows, on each node. */
  | { readonly kind: 'account'; readonly account: string; readonly balance: Bounds<bigint> }
  /** Number of transactions in the pool, all queues together, on each node. */
  | { readonly kind: 'pool'; readonly bounds: Bounds<number> }
  /** True if no checked node has banned a peer, deducted points from a peer, or logged one of `PENALTY_CODES`. */
  | { readonly kind: 'noPenalty' }
  /** Sum of the samples with these labels, on each node. */
  | {
      readonly kind: 'metric';
      readonly name: string;
      readonly labels: ReadonlyMap<string, string>;
      readonly bounds: Bounds<number>;
    }
  /** Number of log lines with the code since the start of the devnet, on each node. */
  | { readonly kind: 'log'; readonly code: string; readonly bounds: Bounds<number> };

export interface Bounds<T extends number | bigint> {
  readonly min?: T;
  readonly max?: T;
}

/** Default of `withinMs`. */
export const WITHIN_MS = 30_000;
