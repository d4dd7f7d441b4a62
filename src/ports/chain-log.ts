/**
 * Defines the chain log, which contains numbered records of the latest changes of the chain. A client that was
 * disconnected can read the records that it missed, as long as the log still has them.
 */

import type { Block } from '../protocol/types.ts';

export interface ChainRecord {
  /**
   * Number of the record. The first record of a store has number 1, and each later record has the next number. A
   * restart of the node does not change this. In one case, the log skips a number: a tool has changed the chain without
   * writing to the log, and the log is then opened. From then on, the log does not return the earlier records.
   */
  readonly sequence: number;
  readonly kind: 'applied' | 'reverted';
  readonly height: number;
  readonly blockId: string;
  /**
   * Finalized height before this change. The node never reverts a block at or below this height. The finalized height
   * in the records never falls, even if a revert lowers the finalized height that is computed from the state.
   */
  readonly finalizedBefore: number;
  readonly finalizedAfter: number;
}

export interface ChainLog {
  /**
   * Returns the sequence number of the newest record. If the log has skipped a number after the newest record, the
   * result is the skipped number. The result is 0 for a new log.
   */
  last(): number;
  /**
   * Returns the sequence number of the oldest record that the log still returns. If the log returns no record, the
   * result is `last()` + 1.
   */
  floor(): number;
  /**
   * Returns the finalized height after the change in the newest record. If the log returns no record, the result is the
   * finalized height when the log was opened. The result never falls.
   */
  finalized(): number;
  /**
   * Returns at most `limit` records in ascending order. The first record has the sequence number `from`, or `floor()`
   * if `from` is smaller than `floor()`.
   */
  records(from: number, limit: number): readonly ChainRecord[];
  /**
   * Finds the first record that has a sequence number of at least `from`, and that records the revert of a block at
   * `height`. The result is undefined if there is no such record. The search does not read every record, so the search
   * is fast even in a long log.
   */
  firstRevert(height: number, from: number): ChainRecord | undefined;
  /**
   * Returns the block that was applied or reverted in the change of `record`, even if the block was reverted after the
   * record was written. The result is undefined if the block is no longer stored.
   */
  block(record: ChainRecord): Block | undefined;
}
