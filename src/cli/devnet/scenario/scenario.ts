/** A scenario: a devnet, what is done to it, and what must be true then. */

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
  /** Seconds; below 2 the clock of the chain runs ahead. */
  readonly blockTime?: number;
  /** Name or folder of a network. */
  readonly network?: string;
}

export interface Step {
  /** Of the file, from 1. */
  readonly line: number;
  /** The step in the words of a report. */
  readonly text: string;
  readonly work: StepWork;
}

export type StepWork =
  /** Does the same as a command of a running devnet; named by its operation. */
  | { readonly kind: 'operation'; readonly operation: string; readonly parameters: object }
  /** Sends of the account `genesis` to an account or address, in a block at once. */
  | { readonly kind: 'fund'; readonly to: string; readonly amount: bigint }
  | {
      readonly kind: 'transfer';
      readonly from: string;
      readonly to: string;
      readonly amount: bigint;
      readonly node: number;
    }
  /** Of the machine's clock. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'expect'; readonly expected: Expected };

/** What must be true at one moment of the time. */
export interface Expected {
  readonly withinMs: number;
  /** Nodes that are asked; all that run unless given. */
  readonly nodes?: readonly number[];
  readonly conditions: readonly Condition[];
}

export type Condition =
  /** Of each node. */
  | { readonly kind: 'heights' | 'finalized' | 'finalityLag'; readonly bounds: Bounds<number> }
  /** Whether all nodes have the same block at the least of their heights. */
  | { readonly kind: 'sameBlock'; readonly isSame: boolean }
  /** Beddows, on each node. */
  | { readonly kind: 'account'; readonly who: string; readonly balance: Bounds<bigint> }
  /** Transactions in all queues of the pool, on each node. */
  | { readonly kind: 'pool'; readonly bounds: Bounds<number> }
  /** No node has charged or banned a peer. */
  | { readonly kind: 'noPenalty' }
  /** The sum of the samples with these labels, on each node. */
  | {
      readonly kind: 'metric';
      readonly name: string;
      readonly labels: ReadonlyMap<string, string>;
      readonly bounds: Bounds<number>;
    }
  /** Lines with the code since the start, on each node. */
  | { readonly kind: 'log'; readonly code: string; readonly bounds: Bounds<number> };

export interface Bounds<T extends number | bigint> {
  readonly min?: T;
  readonly max?: T;
}

export const WITHIN_MS = 30_000;
