/**
 * Defines the report about slots. The report contains the events of each slot (for example a forged or reverted block)
 * and the owner of each slot. It also contains the slots whose owners this node did not know for certain.
 */

import type { PublicKey } from '../protocol/types.ts';

/** An event of a slot. */
export interface SlotFact {
  /** Time of the event as Unix time in milliseconds. */
  readonly timeMs: number;
  /** The module that reported the event: `chain` or `forge`. */
  readonly module: string;
  /** Stable code of the event, such as `BLOCK_FORGED` or `BLOCK_REVERTED`. */
  readonly code: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** The events that this node observed in certain slots, and the owners of these slots. */
export interface SlotReport {
  /**
   * Unix time in milliseconds. It is possible that events from before this time are missing in the report. For each
   * slot, the report has at most the first eight events.
   */
  readonly sinceMs: number;
  readonly slots: readonly {
    readonly slot: number;
    readonly facts: readonly SlotFact[];
    readonly forger?: SlotForger;
  }[];
  /**
   * The latest times at which forging of a delegate was switched on or off, oldest first. Times before the start of the
   * node are missing.
   */
  readonly switches: readonly { readonly timeMs: number; readonly delegate: PublicKey; readonly on: boolean }[];
  /** The latest branches that this node left, oldest first. */
  readonly branches: readonly LeftBranch[];
  /**
   * The latest ranges of slots in which the forging scheduler ran, oldest first. In a slot between two ranges, the
   * process did not run or was blocked by other work, or somebody set the clock past the slot.
   */
  readonly looks: readonly SlotRange[];
  /**
   * The latest ranges of slots at whose end this node did not know the order of forgers for certain, oldest range
   * first. During a range, the tip of this node stayed the same. Perhaps other nodes had blocks above this tip, and
   * these blocks began a new round before the last slot of the range. This node did not know the order of forgers in
   * that round. In earlier slots of the range, the order was perhaps still certain.
   */
  readonly oldOrders: readonly OldOrder[];
}

/**
 * The owner of a slot. `SlotReport` has no `forger` for a slot that has no owner, or whose owner this node cannot find
 * (`engine/slot-owners.ts`).
 */
export interface SlotForger {
  readonly publicKey: PublicKey;
  /** Username of the delegate; empty if the key belongs to no delegate. */
  readonly username: string;
  /** The order of forgers at this height determines the owner of the slot. */
  readonly height: number;
  /**
   * False if the slot is after the tip of this node, and other nodes perhaps have blocks between the tip and the slot
   * that begin a round after the round of `height`. If such blocks exist, the owner of the slot depends on the order of
   * forgers in that round, and this node does not know that order.
   */
  readonly isCertain: boolean;
}

export interface SlotRange {
  readonly fromSlot: number;
  readonly toSlot: number;
}

interface OldOrder extends SlotRange {
  /**
   * Height of the block after the tip that this node had from `fromSlot` to `toSlot`. In these slots, this node used
   * the order of forgers at this height.
   */
  readonly height: number;
}

/**
 * A branch that the node left. In the slots of this branch, the order of forgers can differ from the order of forgers
 * in the present chain.
 */
interface LeftBranch {
  /** Time when the node left the branch; Unix time in milliseconds. */
  readonly timeMs: number;
  /**
   * The slot after the slot of the common block. The common block is the highest block below both this branch and the
   * next branch (the branch to which the node changed). `toSlot` is the slot in which the node left this branch.
   */
  readonly fromSlot: number;
  readonly toSlot: number;
  /**
   * Height of the first block of the next branch (the branch to which the node changed). Undefined if the node had
   * applied no block of the next branch when the node left this branch.
   */
  readonly forHeight?: number;
  readonly forBlockId?: string;
}
