/** Defers indexing during the import of a whole chain, and backfills the indexes. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { StoredChain } from '../store/chain/stored-chain.ts';

/** The functions of a store for deferred indexing. */
export type IndexBackfill = Pick<StoredChain, 'indexLag' | 'deferIndexing' | 'backfill'>;

/**
 * Largest lag of the indexes, in blocks and transactions. A lag of this size takes about forty megabytes of memory. If
 * a process is killed at this lag, writing the missing entries later takes up to half a minute. A backfill changes
 * nearly every list of an account once, so a lag of 100,000 wrote twice as many bytes for the same chain.
 */
const LAG_MAX = 400_000;

/** Backfills the indexes if their lag is large. The caller must not append blocks during the backfill. */
export async function backfillWhenLagging(indexes: IndexBackfill): Promise<void> {
  if (indexes.indexLag > LAG_MAX) await backfill(indexes);
}

/** Backfills the indexes. The caller must not append blocks during the backfill. */
export async function backfill(indexes: IndexBackfill): Promise<void> {
  for (const _ of indexes.backfill()) await yieldToEventLoop();
}
