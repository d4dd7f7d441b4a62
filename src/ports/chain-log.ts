/**
 * Defines the numbered log of all changes of the chain. A client that was disconnected can read the records that it
 * missed.
 */

import type { Block } from '../protocol/types.ts';

export interface ChainRecord {
  /**
   * Number of the record. The first record of a store has number 1, and each later record has the next number. The
   * numbers continue after a restart.
   */
  readonly sequence: number;
  readonly kind: 'applied' | 'reverted';
  readonly height: number;
  readonly blockId: string;
  /**
   * Finalized height before this change: no block up to the finalized height could be reverted. The finalized height
   * never falls.
   */
  readonly finalizedBefore: number;
  readonly finalizedAfter: number;
}

export interface ChainLog {
  /** Sequence number of the newest record; 0 if there is none. */
  last(): number;
  /** Sequence number of the oldest stored record; `last` + 1 if no record is stored. */
  floor(): number;
  /** Finalized height at the newest record; 0 if there is no record. The finalized height never falls. */
  finalized(): number;
  /** The stored records from a sequence number on, in ascending order, at most `limit`. */
  records(from: number, limit: number): readonly ChainRecord[];
  /**
   * The first record from a sequence number on that reverted a block of a height. The search reads few records, even in
   * a long log.
   */
  firstRevert(height: number, from: number): ChainRecord | undefined;
  /**
   * The block of a record, even if the block was reverted after the record was written; undefined if the block is no
   * longer stored.
   */
  block(record: ChainRecord): Block | undefined;
}
