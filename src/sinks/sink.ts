/**
 * The contract of a sink: where the rows of a chain go. `docs/guides/analytics.md` tells how to add one, and
 * `test/sinks/contract.ts` is the suite that every sink passes.
 *
 * A sink has two parts. The final part consists of whole ranges of heights, each as many as the identity says, from height 1 on:
 * nothing in it ever changes. The tail consists of the blocks above it, which come and go.
 */

import type { BlockId } from '../protocol/types.ts';
import type { Rows } from './tables.ts';

/** Which chain a sink holds, and in ranges of which size. */
export interface SinkIdentity {
  readonly network: string;
  readonly generation: number;
  readonly genesisBlockId: BlockId;
  /** Heights of a range, at least 1. Fixed when the sink is made. */
  readonly rangeBlocks: number;
}

/** Names a block. */
export interface BlockPlace {
  readonly height: number;
  readonly blockId: BlockId;
}

/** Where a sink stands, as it was read back from the sink itself. */
export interface SinkPlace {
  /** Last block of the newest range; undefined while there is no range. */
  readonly final: BlockPlace | undefined;
  /** Blocks above, ascending and without a gap. */
  readonly tail: readonly BlockPlace[];
}

/** Heights, both included. */
export interface HeightSpan {
  readonly fromHeight: number;
  readonly toHeight: number;
}

export interface SinkBlock extends BlockPlace {
  readonly rows: Rows;
}

/**
 * One process writes to a sink at a time: `begin` takes it, `end` gives it back. A process that lost the sink meanwhile, as it
 * stood still for long, changes nothing any more: its calls throw `SINK_LEASE_LOST`, also one that was under way.
 * Calls follow one another; each has ended before the next begins.
 */
export interface Sink {
  /**
   * Opens the sink, making or migrating its tables, removes what a crash left half done and tells where the sink stands.
   *
   * @throws ProtocolError `SINK_OF_OTHER_CHAIN` where the sink was made with another identity, `SINK_VERSION` for a newer schema,
   *   `SINK_IN_USE` while another process has it; then nothing was taken
   */
  begin(identity: SinkIdentity): Promise<SinkPlace>;
  /**
   * Stores the range above the final part, whole or not at all, and drops the blocks of the tail that are in it. Storing a range
   * that is there already, as after a crash, changes nothing.
   *
   * @param lastBlockId block at `toHeight`
   */
  putRange(span: HeightSpan, lastBlockId: BlockId, rows: Rows): Promise<void>;
  /** Adds blocks on top of the tail, ascending. A block that is there already, as after a crash, stays as it is. */
  putTail(blocks: readonly SinkBlock[]): Promise<void>;
  /** Removes the blocks of the tail above a height. */
  revertTail(toHeight: number): Promise<void>;
  /** Closes the sink and gives it back. */
  end(): Promise<void>;
}

/** Range of the final part that follows a height, which is 0 or the last height of a range. */
export function rangeAfter(height: number, rangeBlocks: number): HeightSpan {
  return { fromHeight: height + 1, toHeight: height + rangeBlocks };
}
