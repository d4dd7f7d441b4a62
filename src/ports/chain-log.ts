/** The numbered log of changes of the chain. A reader that was away can read the records that it missed. */

import type { Block } from '../protocol/types.ts';

export interface ChainRecord {
  /** Number of the record: 1 for the first record of this store, then one more for each. A restart does not change it. */
  readonly sequence: number;
  readonly kind: 'applied' | 'reverted';
  readonly height: number;
  readonly blockId: string;
  /** Height up to which no block could be reverted, before this change and after it. It never falls. */
  readonly finalizedBefore: number;
  readonly finalizedAfter: number;
}

export interface ChainLog {
  /** Sequence number of the newest record; 0 if there is none. */
  last(): number;
  /** Sequence number of the oldest record that is kept; one above `last` if none is kept. */
  floor(): number;
  /** Height up to which no block could be reverted at the newest record; 0 if there is none. It never falls. */
  finalized(): number;
  /** The kept records from a sequence number on, ascending, at most `limit`. */
  records(from: number, limit: number): readonly ChainRecord[];
  /** The block of a record, even if it was reverted since; undefined if the block is not kept any more. */
  block(record: ChainRecord): Block | undefined;
}
