/**
 * Defines the interface of a sink, which stores the blocks of a chain as rows. `docs/guides/analytics.md` says how to
 * add a sink. Every sink passes the tests of `test/sinks/contract.ts`.
 *
 * A sink has two parts. The final part contains the blocks from height 1 on, in ranges of consecutive heights. All
 * ranges have the same number of heights, and this number belongs to the identity of the sink. A stored range never
 * changes. The tail consists of the blocks above the final part. The node can still revert blocks of the tail.
 */

import type { BlockId } from '../protocol/types.ts';
import type { Rows } from './tables.ts';

/**
 * Identity of a sink: the chain that the sink copies, and the number of blocks in a range. A range is a group of
 * consecutive blocks that the sink stores as a whole or not at all.
 */
export interface SinkIdentity {
  readonly network: string;
  readonly generation: number;
  readonly genesisBlockId: BlockId;
  /** Number of heights in a range, at least 1. After the sink was created, this number never changes. */
  readonly rangeBlocks: number;
}

/** Height and id of a block. */
export interface BlockPlace {
  readonly height: number;
  readonly blockId: BlockId;
}

/** Shows how far a sink has copied the chain. The sink reads this position from its own tables or files. */
export interface SinkPlace {
  /** Last block of the newest range; undefined while the sink has no range. */
  readonly final: BlockPlace | undefined;
  /** Blocks above the newest range, ascending and without a gap. */
  readonly tail: readonly BlockPlace[];
}

/** A span of heights, from `fromHeight` to `toHeight` (both included). */
export interface HeightSpan {
  readonly fromHeight: number;
  readonly toHeight: number;
}

/**
 * Collects the rows of a range, block by block. A sink is allowed to convert the rows of each block to the sink's
 * storage format immediately. In this format, a hundred thousand rows take much less memory than as objects.
 */
export interface RangeDraft {
  /** Adds the rows of the next block. */
  add(rows: Rows): void;
  /**
   * Stores the rows as the next range of the final part (the blocks that the sink never removes), as a whole or not at
   * all. Then drops the blocks of this range from the tail (the newest blocks of the sink, which the sink can still
   * remove). If the sink already has the range (for example after a crash), the stored range stays as it is. The caller
   * must not call this method twice for the same draft. After an error, the caller needs a new draft.
   *
   * @param lastBlockId id of the block at `toHeight`
   */
  put(span: HeightSpan, lastBlockId: BlockId): Promise<void>;
}

export interface SinkBlock extends BlockPlace {
  readonly rows: Rows;
}

/**
 * Only one process at a time writes to a sink. `begin` reserves the sink for the process, and `end` releases the sink.
 * For a ClickHouse sink, the process holds a lease (`lease.ts`). For a Parquet sink, the process holds a lock file in
 * the folder of the sink. A process that was paused for a long time can lose the lease or the lock. After the loss,
 * this process changes nothing that readers see. All writes of this process throw `SINK_LEASE_LOST`, even writes that
 * began before the loss.
 *
 * The caller waits for the end of each call to the sink before it makes another call. Only calls of `draftRange` and
 * `RangeDraft.add` are allowed during another call.
 */
export interface Sink {
  /**
   * Opens the sink: creates or migrates its tables, removes or ignores the rows of writes that a crash left unfinished,
   * and returns the position of the sink. If this method throws, the process does not hold the sink.
   *
   * @throws ProtocolError `SINK_OF_OTHER_CHAIN` when the sink was created with another identity; `SINK_VERSION` for
   *   tables of a version that this program cannot write or migrate; `SINK_IN_USE` while another process uses the sink;
   *   errors of the database or folder
   */
  begin(identity: SinkIdentity): Promise<SinkPlace>;
  /**
   * Begins a draft of the next range. The caller is allowed to add rows to a second draft while the sink stores the
   * first draft. The caller stores the second draft only after the sink has stored the first draft.
   */
  draftRange(): RangeDraft;
  /**
   * Adds blocks to the top of the tail, in ascending order. The tail consists of the newest blocks of the sink, which
   * the sink can still remove (`revertTail`). If the tail already has a block (with the same height and id), this block
   * stays as it is. If the tail has a different block at the height of a new block, the caller must revert the block in
   * the tail before this call. After a crash during this call, it is possible that only the lowest of the new blocks
   * are in the tail, without a gap. The tail never contains a part of a block.
   */
  putTail(blocks: readonly SinkBlock[]): Promise<void>;
  /**
   * Removes all blocks above a height from the tail. The tail consists of the newest blocks of the sink, which are in
   * no range yet. If the tail has no block above the height, the method does nothing. After a crash during this call,
   * it is possible that the lowest of these blocks are still in the tail, without a gap.
   */
  revertTail(toHeight: number): Promise<void>;
  /**
   * Releases and closes the sink. The caller is allowed to call this method more than once. The caller is also allowed
   * to call this method if `begin` failed or was never called. Before this call, the caller must wait for the end of
   * all its other calls to the sink.
   */
  end(): Promise<void>;
}

/**
 * Returns the heights of the range that follows a given range.
 *
 * @param height last height of the given range; 0 to get the first range of a sink
 */
export function rangeAfter(height: number, rangeBlocks: number): HeightSpan {
  return { fromHeight: height + 1, toHeight: height + rangeBlocks };
}
