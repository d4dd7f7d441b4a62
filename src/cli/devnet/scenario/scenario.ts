/** Types of a scenario: its devnet, and its steps. A step is an action, or conditions that must become true. */

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
  /**
   * Seconds between two blocks, on the machine's clock. A time of 2 s or more is also the length of a slot. A slot
   * cannot be shorter than 2 s. If the time is below 2 s, a slot therefore has 2 s on the chain clock, and the chain
   * clock runs faster than the machine's clock.
   */
  readonly blockTime?: number;
  /** The network that the nodes of the devnet run: the name of this network, or the path of the network's folder. */
  readonly network?: string;
}

export interface Step {
  /** Number of the line of the step in the scenario's file, counted from 1. */
  readonly line: number;
  /** Text that describes the step in reports. */
  readonly text: string;
  readonly work: StepWork;
}

export type StepWork =
  /** An operation of a running devnet (`operations.ts`). */
  | { readonly kind: 'operation'; readonly operation: string; readonly parameters: object }
  /**
   * Sends beddows to an account or address. The sender is the first account whose passphrase the network folder
   * contains, usually `genesis`. The devnet then mines slots until a block contains the transfer, but at most two
   * rounds of slots.
   */
  | { readonly kind: 'fund'; readonly to: string; readonly amount: bigint }
  /**
   * Adds a transfer from a known account (`KnownAccount`) to the pool of a node. In the mining mode `instant`, the
   * devnet then mines one or more slots. In the other mining modes, the step mines no block.
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

/** Conditions that must all be true in the same check. The step repeats the check for up to `withinMs`. */
export interface Expected {
  readonly withinMs: number;
  /**
   * Numbers of the nodes that the step checks. If this member is absent, the step checks all nodes that are not killed
   * or paused at the time of the check.
   */
  readonly nodes?: readonly number[];
  readonly conditions: readonly Condition[];
}

export type Condition =
  /**
   * On each node, the value that `kind` selects must be within the bounds: the tip height (`heights`), the finalized
   * height (`finalized`), or the tip height minus the finalized height (`finalityLag`).
   */
  | { readonly kind: 'heights' | 'finalized' | 'finalityLag'; readonly bounds: Bounds<number> }
  /**
   * Takes the lowest tip height of the checked nodes, and compares the blocks that these nodes have at this height. If
   * `isSame` is true, all these blocks must be the same. If `isSame` is false, at least two of these blocks must
   * differ.
   */
  | { readonly kind: 'sameBlock'; readonly isSame: boolean }
  /** Bounds, in beddows, of the balance that each node reports for an account. */
  | { readonly kind: 'account'; readonly account: string; readonly balance: Bounds<bigint> }
  /** Bounds, on each node, of the total number of transactions in all queues of the pool. */
  | { readonly kind: 'pool'; readonly bounds: Bounds<number> }
  /**
   * True if no checked node has banned a peer, lowered the reputation of a peer, or logged one of `PENALTY_CODES`
   * (`expectations.ts`).
   */
  | { readonly kind: 'noPenalty' }
  /**
   * Bounds of a metric on each node. The function `metricIn` adds up the samples of the metric with the given `labels`,
   * and the sum must be within the bounds.
   */
  | {
      readonly kind: 'metric';
      readonly name: string;
      readonly labels: ReadonlyMap<string, string>;
      readonly bounds: Bounds<number>;
    }
  /** Bounds, on each node, of the number of log lines with `code` since the start of the devnet. */
  | { readonly kind: 'log'; readonly code: string; readonly bounds: Bounds<number> };

export interface Bounds<T extends number | bigint> {
  readonly min?: T;
  readonly max?: T;
}

/** Default of `withinMs`. */
export const WITHIN_MS = 30_000;
