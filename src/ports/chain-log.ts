/** The numbered log of changes of the chain. A reader that was away reads the records that it missed. */

import type { Block } from '../protocol/types.ts';

export interface ChainRecord {
  /** 1 for the first record of this store, then one more each time; the same after a restart. */
  readonly sequence: number;
  readonly kind: 'applied' | 'reverted';
  readonly height: number;
  readonly blockId: string;
  /** Largest height that could not be reverted any more, before the record and after it. Never falls. */
  readonly finalizedBefore: number;
  readonly finalizedAfter: number;
}

export interface ChainLog {
  /** Sequence of the newest record; 0 for none. */
  last(): number;
  /** Sequence of the oldest record that is kept; one above `last` when none is. */
  floor(): number;
  /** Largest height that could not be reverted any more as of the newest record; 0 for none. Never falls. */
  finalized(): number;
  /** Kept records from a sequence on, ascending, at most `limit`. */
  records(from: number, limit: number): readonly ChainRecord[];
  /** The block of a record, also when it was reverted since. Undefined when it is no longer kept. */
  block(record: ChainRecord): Block | undefined;
}
