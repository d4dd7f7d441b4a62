/**
 * Defines the chain log, which contains numbered records of the latest changes of the chain. A client that was
 * disconnected can read the records that it missed, as long as the log still has them.
 */

import type { Block } from '../protocol/types.ts';

export interface ChainRecord {
  /**
   * Number of the record. The first record of a store has number 1, and each later record has the next number, also
   * after a restart. There is one exception: if a tool has changed the chain without writing to the log, the log skips
   * one number when it is next opened. From then on, the log does not return the earlier records.
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
  /** Sequence number of the newest record, or a higher number that the log has skipped; 0 for a new log. */
  last(): number;
  /** Sequence number of the oldest record that the log returns; `last` + 1 if the log returns no record. */
  floor(): number;
  /**
   * Finalized height after the newest record, or at the opening of the log if the log returns no record. The value
   * never falls.
   */
  finalized(): number;
  /**
   * At most `limit` records in ascending order. The first record has the sequence number `from`, or `floor()` if `from`
   * is smaller.
   */
  records(from: number, limit: number): readonly ChainRecord[];
  /**
   * Returns the first record of a revert at `height` with a sequence number of at least `from`; undefined if there is
   * no such record. The search skips records that cannot belong to such a revert, so the search is fast even in a long
   * log.
   */
  firstRevert(height: number, from: number): ChainRecord | undefined;
  /**
   * The block of a record, even if the block was reverted after the record was written; undefined if the block is no
   * longer stored.
   */
  block(record: ChainRecord): Block | undefined;
}
