/**
 * The contract of a sink, which stores the rows of a chain. `docs/guides/analytics.md` says how to add a sink. Every
 * sink passes the suite `test/sinks/contract.ts`.
 *
 * A sink has two parts. The final part consists of whole ranges of heights, from height 1 on. The identity of the sink
 * has the size of the ranges. The final part never changes. The tail consists of the blocks above the final part, which
 * may be reverted.
 */

import type { BlockId } from '../protocol/types.ts';
import type { Rows } from './tables.ts';

/** Identity of a sink: its chain and the size of its ranges. */
export interface SinkIdentity {
  readonly network: string;
  readonly generation: number;
  readonly genesisBlockId: BlockId;
  /** Number of heights in a range, at least 1. The number of heights is fixed when the sink is made. */
  readonly rangeBlocks: number;
}

/** Names a block. */
export interface BlockPlace {
  readonly height: number;
  readonly blockId: BlockId;
}

/** Position of a sink, read back from the sink itself. */
export interface SinkPlace {
  /** Last block of the newest range; undefined while there is no range. */
  readonly final: BlockPlace | undefined;
  /** Blocks above the last range, ascending and without a gap. */
  readonly tail: readonly BlockPlace[];
}

/** First and last height; both belong to the span. */
export interface HeightSpan {
  readonly fromHeight: number;
  readonly toHeight: number;
}

/**
 * Collects the rows of a range, block by block. A sink keeps the rows in the form in which it stores them, because the
 * objects of a hundred thousand rows would take much more memory.
 */
export interface RangeDraft {
  /** Adds the rows of the next block. */
  add(rows: Rows): void;
  /**
   * Stores the range above the final part, as a whole or not at all. A draft is stored once; after an error, a new
   * draft is needed. Drops the blocks of the tail that are in the range. A range that already exists (for example after
   * a crash) stays as it is.
   *
   * @param lastBlockId block at `toHeight`
   */
  put(span: HeightSpan, lastBlockId: BlockId): Promise<void>;
}

export interface SinkBlock extends BlockPlace {
  readonly rows: Rows;
}

/**
 * One process writes to a sink at a time: `begin` takes the sink, `end` releases it. A process that was paused for a
 * long time may lose the sink. A process that lost the sink changes nothing: its calls throw `SINK_LEASE_LOST`, even
 * calls that began before the loss. The caller waits for the end of each call to the sink before it makes another call.
 */
export interface Sink {
  /**
   * Opens the sink: creates or migrates its tables, removes unfinished writes of a crash, and returns the position of
   * the sink.
   *
   * @throws ProtocolError `SINK_OF_OTHER_CHAIN` when the sink was made with another identity, `SINK_VERSION` for a
   *   newer schema, `SINK_IN_USE` while another process has the sink; after an error this process does not hold the
   *   sink
   */
  begin(identity: SinkIdentity): Promise<SinkPlace>;
  /**
   * Begins a draft of the next range. A second draft may collect rows while the first draft is stored, but drafts are
   * stored one after another.
   */
  draftRange(): RangeDraft;
  /**
   * Adds blocks on top of the tail, ascending. A block that the tail already has, by height and id, stays as it is. The
   * tail has no other block at these heights, because the caller reverts other blocks first. A crash may leave only the
   * first of the blocks, but no incomplete block.
   */
  putTail(blocks: readonly SinkBlock[]): Promise<void>;
  /**
   * Removes the blocks of the tail above a height, and does nothing if there are none. A crash may leave the lowest of
   * these blocks.
   */
  revertTail(toHeight: number): Promise<void>;
  /**
   * Closes the sink and releases it. May be called more than once, and also when `begin` failed or was never called. The
   * caller waits for the end of its other calls first.
   */
  end(): Promise<void>;
}

/** The range of the final part that follows a height. The given height is 0 or the last height of a range. */
export function rangeAfter(height: number, rangeBlocks: number): HeightSpan {
  return { fromHeight: height + 1, toHeight: height + rangeBlocks };
}
