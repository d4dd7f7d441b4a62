/**
 * Shows the chain as it was at an earlier time: just after one record of the event log had been written. Blocks that
 * were applied or reverted later have no effect on the result.
 */

import type { ChainLog, ChainRecord } from '../../ports/chain-log.ts';
import type { NodeApi } from '../../ports/node-api.ts';
import type { Block } from '../../protocol/types.ts';
import { AFTER_RECORD, tagOf, type EventPlace } from './event.ts';
import type { Finality } from './expand.ts';

export class ChainAsOf {
  readonly sequence: number;
  readonly #api: Pick<NodeApi, 'chain' | 'log'>;

  /** @param sequence number of the record; the log must contain all later records */
  constructor(api: Pick<NodeApi, 'chain' | 'log'>, sequence: number) {
    this.#api = api;
    this.sequence = sequence;
  }

  /** Height of the tip when the record had just been written; 0 if the chain had no block. */
  tipHeight(): number {
    const next = this.#next();
    if (next === undefined) return this.#api.chain.tip()?.height ?? 0;
    return next.kind === 'applied' ? next.height - 1 : next.height;
  }

  /** Finalized height when the record had just been written; 0 if no block was final. */
  finalizedHeight(): number {
    return this.#next()?.finalizedBefore ?? this.#api.log.finalized();
  }

  /**
   * Returns the block at a height, in the chain as it was when the record had just been written. Returns undefined if
   * the log no longer contains the block.
   *
   * @param height at most `tipHeight()`; for a greater height, the result can be a block that was applied later
   */
  block(height: number): Block | undefined {
    const { chain, log } = this.#api;
    const reverted = log.firstRevert(height, this.sequence + 1);
    return reverted === undefined ? chain.blockByHeight(height) : log.block(reverted);
  }

  #next(): ChainRecord | undefined {
    const [record] = this.#api.log.records(this.sequence + 1, 1);
    return record;
  }
}

/**
 * Returns the height of the last block that a stream reads from the chain before it sends the events of the records of
 * the log. Only two kinds of streams read such blocks: a stream that begins at a requested height, and a stream that
 * resumes at the place of such a block (`EventPlace.height`). Any other stream begins with the records of the log.
 */
export function lastPastHeight(past: ChainAsOf, finality: Finality): number {
  return finality === 'final' ? past.finalizedHeight() : past.tipHeight();
}

/**
 * Returns the place at which an event stream must start, so that it sends all blocks from `height` on, and then the
 * later events of the log.
 *
 * @returns undefined when the block at `height - 1` does not exist yet, or if `finality` is `final` and this block is
 *   not final yet
 */
export function placeAtHeight(
  api: Pick<NodeApi, 'chain' | 'log'>,
  height: number,
  finality: Finality,
): EventPlace | undefined {
  const sequence = api.log.last();
  const last = lastPastHeight(new ChainAsOf(api, sequence), finality);
  if (height > last + 1) return undefined;
  return height > last ? endOfLog(api) : { sequence, tag: tagAt(api.log, sequence), height, index: -1 };
}

/** Returns the place after all events of the log. */
export function endOfLog({ log }: Pick<NodeApi, 'log'>): EventPlace {
  return { sequence: log.last(), index: AFTER_RECORD };
}

/**
 * True when the place seems to belong to another log. There are two cases. In the first case, the number of the place
 * is higher than the number of the last record of this log. In the second case, the place has a tag (a checksum of the
 * record at this place), and this log stores no record with this number and tag.
 */
export function isOfOtherLog(log: ChainLog, { sequence, tag }: EventPlace): boolean {
  return sequence > log.last() || (tag !== undefined && tag !== tagAt(log, sequence));
}

function tagAt(log: ChainLog, sequence: number): number | undefined {
  const [record] = log.records(sequence, 1);
  return record?.sequence === sequence ? tagOf(record) : undefined;
}
